package migrate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Place is one end of a move: a keyspace of a server that speaks RESP.
type Place struct {
	Name               string   // what reports call it: "Redis", "turnlog"
	Addrs              []string // the first that accepts a connection is used
	Username, Password string
	TLS                *tls.Config
	DB                 int
	// Namespace is set for turnlog, and is used in place of DB.
	Namespace string
}

// open returns a client of p for as many goroutines as there are workers. It
// repeats nothing by itself: what may be repeated is decided where it is known
// what was asked.
func (p Place) open(workers int) *redis.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	options := &redis.Options{
		Addr: strings.Join(p.Addrs, ","), Username: p.Username, Password: p.Password, DB: p.DB,
		Protocol: 2, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		ReadTimeout:              time.Minute, WriteTimeout: time.Minute, ContextTimeoutEnabled: true,
		PoolSize: workers + 2, MaxIdleConns: workers + 2,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) { return p.dial(ctx, dialer, network) },
	}
	if p.Namespace != "" {
		options.DB = 0
		options.OnConnect = func(ctx context.Context, c *redis.Conn) error {
			return c.Do(ctx, "TURN.NS", p.Namespace).Err()
		}
	}
	return redis.NewClient(options)
}

func (p Place) dial(ctx context.Context, d *net.Dialer, network string) (net.Conn, error) {
	var failed error
	for _, addr := range p.Addrs {
		conn, err := d.DialContext(ctx, network, addr)
		if err == nil && p.TLS != nil {
			conn, err = p.encrypt(ctx, conn, addr)
		}
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (p Place) encrypt(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	cfg := p.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	return secure, nil
}

// ParseURL returns the place that a URL redis://[user[:password]@]host[:port][/db]
// names, rediss:// for TLS.
func ParseURL(url string) (Place, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return Place{}, fmt.Errorf("not a Redis URL (redis://[user[:password]@]host[:port][/db]): %w", err)
	}
	return Place{Name: "Redis", Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, TLS: o.TLSConfig,
		DB: o.DB}, nil
}

// Databases returns the numbers of the databases at p that hold keys.
func (p Place) Databases(ctx context.Context) ([]int, error) {
	c := p.open(1)
	defer c.Close()
	text, err := c.Info(ctx, "keyspace").Result()
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", p.Name, c.Options().Addr, err)
	}
	var numbers []int
	for line := range strings.Lines(text) {
		name, _, found := strings.Cut(line, ":")
		number, isDB := strings.CutPrefix(name, "db")
		if n, err := strconv.Atoi(number); found && isDB && err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}
