package config

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/turnlog/turnlog/turn"
)

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.NodeID == "" || len(c.NodeID) > 64 || strings.ContainsAny(c.NodeID, "=, \t\n/") {
		return fmt.Errorf("node-id %q: must have 1 to 64 bytes and no '=', ',', '/' or spaces", c.NodeID)
	}
	if c.DataDir == "" {
		return fmt.Errorf("data-dir must not be empty")
	}
	for _, check := range []func() error{c.checkTLS, c.checkNodes, c.checkAddresses, c.checkPprof, c.checkCluster,
		c.Logging.check, c.checkStorage, c.checkLimits, c.checkOrigins, c.Traces.check} {
		if err := check(); err != nil {
			return err
		}
	}
	if _, err := c.Dials(); err != nil {
		return err
	}
	_, err := c.IDPaths()
	return err
}

func (c *Config) checkCluster() error {
	if _, err := c.Level(); err != nil {
		return err
	}
	if zone := c.Cluster.Zone; len(zone) > 64 || strings.ContainsFunc(zone, notInName) {
		return fmt.Errorf("zone %q: must have up to 64 bytes, and no spaces or control characters", zone)
	}
	if p := c.Cluster.LeaderPreference; p < 0 || p > 1000 {
		return fmt.Errorf("leader-preference %d: must be 0 to 1000", p)
	}
	if c.ElectionTimeout < 50*time.Millisecond || c.ElectionTimeout > time.Minute {
		return fmt.Errorf("election-timeout %s: must be 50ms to 1m", c.ElectionTimeout)
	}
	return nil
}

func (l *Logging) check() error {
	if l.SlowRequest < 0 {
		return fmt.Errorf("log-slow-requests %v: must not be negative", l.SlowRequest)
	}
	if l.Format != "text" && l.Format != "json" {
		return fmt.Errorf("log-format %q: must be text or json", l.Format)
	}
	return nil
}

func (c *Config) checkStorage() error {
	if c.Log.Engine != "wal" && c.Log.Engine != "boltdb" {
		return fmt.Errorf("log-engine %q: must be wal or boltdb", c.Log.Engine)
	}
	if c.Log.CompactBytes < 64<<10 || c.Log.TailBytes < 64<<10 {
		return fmt.Errorf("log-compact-bytes %s, log-tail-bytes %s: must be at least 64KiB each",
			c.Log.CompactBytes.String(), c.Log.TailBytes.String())
	}
	if c.SnapshotRate != 0 && c.SnapshotRate < 1<<20 {
		return fmt.Errorf("snapshot-rate %s: must be 1MiB or more, or 0 for no limit: a node that is sent the state "+
			"more slowly may never catch up", c.SnapshotRate.String())
	}
	if c.MemoryBudget < 16<<20 {
		return fmt.Errorf("memory-budget %s: must be at least 16MiB", c.MemoryBudget.String())
	}
	return nil
}

func (c *Config) checkLimits() error {
	if l := c.Limits; l.MessageBytes <= 0 || l.AppendBytes < l.MessageBytes || l.ReadBytes < l.AppendBytes {
		return fmt.Errorf("limits must satisfy 0 < max-message-bytes (%s) <= max-append-bytes (%s) <= "+
			"max-read-bytes (%s)",
			l.MessageBytes.String(), l.AppendBytes.String(), l.ReadBytes.String())
	}
	if c.Limits.ReadBytes > turn.MaxAnswerBytes {
		return fmt.Errorf("max-read-bytes %s: must be at most 95MiB, and so must max-message-bytes and "+
			"max-append-bytes: nodes send each other no more in one piece", c.Limits.ReadBytes.String())
	}
	return nil
}

func (c *Config) checkOrigins() error {
	for _, o := range c.Origins() {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(o); err != nil {
			return fmt.Errorf("http-origins: %q must be SCHEME://HOST or SCHEME://HOST:PORT: %w", o, err)
		}
	}
	return nil
}

func (t *Traces) check() error {
	if !(t.Ratio >= 0 && t.Ratio <= 1) {
		return fmt.Errorf("otlp-sample-ratio %v: must be 0 to 1", t.Ratio)
	}
	if t.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(t.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		// Without the value: a password may be in it.
		return errors.New("otlp-endpoint: must be http://HOST:PORT or https://HOST:PORT, with a path if the " +
			"collector has one, and without credentials, which are for OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

func (c *Config) checkAddresses() error {
	clients, nodes := c.UsersFile != "" && c.ClientTLS.Cert != "", c.NodeTLS.Cert != ""
	const forClients, forNodes = "users-file, tls-cert and tls-key", "node-tls-cert, node-tls-key and node-tls-ca"
	for _, a := range []struct {
		name, addr string
		protected  bool
		needs      string
	}{
		{"resp-addr", c.Listen.RESP, clients, forClients}, {"http-addr", c.Listen.HTTP, clients, forClients},
		{"raft-addr", c.Listen.Raft, nodes, forNodes},
	} {
		if a.addr == "" && c.Embedded {
			continue
		}
		host, _, err := net.SplitHostPort(a.addr)
		if err != nil {
			return fmt.Errorf("%s %q: must be HOST:PORT", a.name, a.addr)
		}
		if !c.Insecure && !a.protected && !isLoopback(host) {
			return fmt.Errorf("%s %s is reachable from other machines, and anyone who reaches it could read and "+
				"change every conversation: "+
				"set %s, listen on loopback, or give --insecure if the network itself is protected", a.name,
				a.addr, a.needs)
		}
	}
	for _, a := range []struct{ name, addr string }{
		{"resp-advertise", c.Advertise.RESP}, {"http-advertise", c.Advertise.HTTP},
		{"raft-advertise", c.Advertise.Raft},
	} {
		if _, _, err := net.SplitHostPort(a.addr); a.addr != "" && err != nil {
			return fmt.Errorf("%s %q: must be HOST:PORT", a.name, a.addr)
		}
	}
	return nil
}

// checkTLS refuses half of what TLS needs: it would be none.
func (c *Config) checkTLS() error {
	switch {
	case (c.ClientTLS.Cert == "") != (c.ClientTLS.Key == ""):
		return fmt.Errorf("tls-cert and tls-key: give both or neither")
	case c.ClientTLS.CA != "" && c.ClientTLS.Cert == "":
		return fmt.Errorf("tls-client-ca: needs tls-cert and tls-key")
	case c.HTTP.OpenMetrics && c.UsersFile == "":
		return fmt.Errorf("open-metrics: has no effect without users-file, since everyone can read /metrics then")
	case (c.NodeTLS.Cert == "") != (c.NodeTLS.Key == "") || (c.NodeTLS.Cert == "") != (c.NodeTLS.CA == ""):
		return fmt.Errorf("node-tls-cert, node-tls-key and node-tls-ca: give all of them or none")
	}
	return nil
}

// checkNodes rejects a cluster in which clients could get round their authentication:
// requests from other nodes are not checked against the rights of users.
func (c *Config) checkNodes() error {
	peers, err := c.Peers()
	if err != nil {
		return err
	}
	if _, err := c.NodeNames(); err != nil {
		return err
	}
	switch {
	case c.NodeTLS.Names != "" && c.NodeTLS.Cert == "":
		return fmt.Errorf("node-tls-names: needs node-tls-cert, node-tls-key and node-tls-ca")
	case c.Listen.Raft == "" && (c.Cluster.Join || c.Cluster.Initial != ""):
		return fmt.Errorf("raft-addr: a member of a cluster with other nodes needs one")
	case c.ClusterSecret.Optional && c.ClusterSecret.File == "":
		return fmt.Errorf("cluster-secret-optional: has no effect without cluster-secret-file")
	case c.AsksClients() && !c.NodeCredential() && (c.Cluster.Join || len(peers) > 1):
		return fmt.Errorf("users-file or tls-client-ca: with these, the nodes need a credential, too, or any program " +
			"on this machine could pass for one of them " +
			"and do what no user may: set cluster-secret-file, or node-tls-cert, node-tls-key and node-tls-ca, on " +
			"every node")
	}
	return nil
}

func (c *Config) checkPprof() error {
	if c.PprofAddr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.PprofAddr)
	if err != nil || !isLoopback(host) {
		return fmt.Errorf("pprof-addr %q: must be HOST:PORT on loopback", c.PprofAddr)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// notInName reports whether a name that is shown in tables must not have a character.
func notInName(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
}
