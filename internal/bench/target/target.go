package target

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Protocol is how a target is spoken to.
type Protocol string

const (
	Turnlog Protocol = "turnlog" // TURN.* commands, with message ids
	Redis   Protocol = "redis"   // RPUSH and LRANGE, of Redis or of turnlog
	HTTP    Protocol = "http"    // turnlog's HTTP API
)

// Target is a store to measure.
type Target struct {
	Name     string // in tables; default: the URL without a password
	Protocol Protocol
	TLS      bool     // Redis only; the authorities are the system's, or SSL_CERT_FILE's
	Addrs    []string // HOST:PORT; connections are dealt out in turn
	User     string
	Password string
	// Namespace is a namespace of turnlog, or the number of a Redis database.
	Namespace string
	// Replicas is how many replicas must confirm a write (WAIT); Redis only.
	Replicas int
	// Processes are the server's process ids, if they are on this machine.
	Processes []int
	// Metrics and Profiles are HTTP addresses of turnlog's nodes, the leader's
	// first, that serve /metrics and /debug/pprof/, if they are known.
	Metrics, Profiles []string
	// Program puts load on the target in place of this process, if set; see Perform.
	Program string

	// Clients are those through which load goes, in such a program.
	Clients []StoreClient
}

// StoreClient is one client of a store that is reached by its own library, with a connection of its own. It is
// used by one goroutine at a time.
type StoreClient interface {
	// Append adds messages to a session, all or none, and returns when they are
	// durable. The store does not keep the slices.
	Append(ctx context.Context, session string, messages [][]byte) error
	// Read reads the last n messages of a session, linearizably; that there are
	// fewer is an error.
	Read(ctx context.Context, session string, n int) error
	Close() error
}

// Parse reads one of
//
//	turnlog://HOST:PORT[,HOST:PORT…][/NAMESPACE]
//	redis://[USER:PASSWORD@]HOST:PORT[/DB][?wait=REPLICAS]; with TLS, rediss://…
//	http://HOST:PORT[/NAMESPACE]
func Parse(s string) (Target, error) {
	first, hosts := splitHosts(s)
	u, err := url.Parse(first)
	if err != nil {
		return Target{}, fmt.Errorf("target %q: %w", s, err)
	}
	t := Target{Protocol: Protocol(u.Scheme), Namespace: strings.Trim(u.Path, "/")}
	if u.Scheme == "rediss" {
		t.Protocol, t.TLS = Redis, true
	}
	u.Host = strings.Join(hosts, ",")
	t.Name = u.Redacted()
	defaults := map[Protocol]string{Turnlog: ":7379", Redis: ":6379", HTTP: ":7380"}
	if defaults[t.Protocol] == "" {
		return t, fmt.Errorf("target %q: must begin with turnlog://, redis://, rediss:// or http://", s)
	}
	for _, addr := range hosts {
		if addr == "" {
			return t, fmt.Errorf("target %q: HOST:PORT is missing", s)
		}
		if !strings.Contains(addr, ":") {
			addr += defaults[t.Protocol]
		}
		t.Addrs = append(t.Addrs, addr)
	}
	if u.User != nil {
		t.User = u.User.Username()
		t.Password, _ = u.User.Password()
	}
	return t, t.options(u.Query())
}

// splitHosts takes all hosts out of a URL but the first: a URL has only one.
func splitHosts(s string) (first string, hosts []string) {
	scheme, rest, _ := strings.Cut(s, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	start := strings.LastIndexByte(rest[:end], '@') + 1
	hosts = strings.Split(rest[start:end], ",")
	return scheme + "://" + rest[:start] + hosts[0] + rest[end:], hosts
}

func (t *Target) options(q url.Values) error {
	for name, values := range q {
		n, err := strconv.Atoi(values[0])
		if name != "wait" || t.Protocol != Redis || err != nil || n < 0 {
			return fmt.Errorf("target %s: the only option is wait=REPLICAS, of redis://", t.Name)
		}
		t.Replicas = n
	}
	return nil
}
