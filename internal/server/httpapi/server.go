package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/server/admission"
	"github.com/turnlog/turnlog/internal/server/memory"
	"github.com/turnlog/turnlog/internal/throttle"
	"github.com/turnlog/turnlog/internal/trace"
)

// Config says what a Server needs. The zero value of a field with a default
// means that default.
type Config struct {
	Addr     string // HOST:PORT that Run listens on
	Engine   Engine
	Admin    Admin                // nil: the cluster cannot be changed over HTTP
	Logger   *slog.Logger         // default: slog.Default
	Registry *prometheus.Registry // gets the server's metrics; /metrics shows all that it has. Default: a new one
	Version  string               // of the program, as /livez tells it
	// SlowRequest is from when on a request is logged that took long; 0: none is.
	SlowRequest time.Duration
	Tracer      *trace.Tracer // of requests; nil: none is traced

	Users       *auth.Users // who may do what; nil: anybody may do anything
	OpenMetrics bool        // /metrics is for everybody, not only for users
	TLS         *tls.Config // of the connections that are accepted; nil: none

	// Hosts are names, beside IP addresses and localhost, under which clients address
	// the server without TLS; Origins are the origins (SCHEME://HOST:PORT) of web pages
	// that may use it.
	Hosts   []string
	Origins []string
	// AdminToken is what a request for administration proves itself with where there
	// are no users, as the content of the file AdminTokenFile. Empty: there is no such
	// request.
	AdminToken, AdminTokenFile string

	MaxConns    int               // open connections; default 16,384
	Descriptors *descriptors.Pool // bounds them further; nil: it does not
	// of the bodies and answers in work together, of one user or address 3/4 of it; default 256 MiB
	MemoryBytes int64
	Heartbeat   time.Duration // between comments in a stream without events; default 15 s
	BodyTime    time.Duration // for which a body may arrive slower than 8 KiB/s; default 20 s
	Stall       time.Duration // for which a client may take nothing; default 20 s
	Grace       time.Duration // for requests to end when the server stops; default 5 s
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	c.MaxConns = or(c.MaxConns, 16<<10)
	c.MemoryBytes = or(c.MemoryBytes, 256<<20)
	c.Heartbeat = or(c.Heartbeat, 15*time.Second)
	c.BodyTime = or(c.BodyTime, 20*time.Second)
	c.Stall = or(c.Stall, 20*time.Second)
	c.Grace = or(c.Grace, 5*time.Second)
	return c
}

func or[T int | int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Server answers HTTP requests. It is an http.Handler as well, for those who
// have a listener of their own.
type Server struct {
	cfg         Config
	log         *slog.Logger
	router      router
	instruments *instruments
	slow        *throttle.Slow
	hosts       Hosts
	origins     *http.CrossOriginProtection // keeps web pages of others from writing through a browser
	memory      *memory.Budget
	admission   *admission.Control
	heads       *headMemory // nil: there are no users
	handshakes  *handshakes.Limit
	buffers     sync.Pool     // of *output
	stopping    chan struct{} // closed when streams are to end
	stop        sync.Once
}

// New makes a Server. It does nothing before Run, Serve or ServeHTTP is called.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if cfg.Engine == nil {
		return nil, errors.New("httpapi: no engine")
	}
	m, err := newInstruments(cfg.Registry)
	if err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	s := &Server{
		cfg:         cfg,
		log:         cfg.Logger,
		instruments: m,
		slow:        throttle.NewSlow(cfg.SlowRequest, cfg.Logger),
		hosts:       NewHosts(cfg.Hosts...),
		origins:     http.NewCrossOriginProtection(),
		handshakes:  handshakes.New(handshakes.Max),
		admission:   admission.New(cfg.MaxConns, cfg.Descriptors),
		stopping:    make(chan struct{}),
	}
	for _, o := range cfg.Origins {
		if err := s.origins.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("httpapi: origin %q: %w", o, err)
		}
	}
	if cfg.Users != nil {
		s.heads = &headMemory{most: cfg.MemoryBytes / 16, admission: s.admission}
	}
	s.router.routes = s.routes()
	s.memory = memory.New(cfg.MemoryBytes)
	s.buffers.New = func() any { return &output{stall: cfg.Stall} }
	return s, nil
}

// Run listens on Addr and serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	return s.Serve(ctx, l)
}

// Serve serves the connections of l, which it closes, until ctx ends. Then
// streams end, other requests have Grace to be answered, and Serve returns nil.
// It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHead - 4<<10, // net/http reads 4 KiB more than it is told
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext:       noteConn,
		ConnState:         noteState,
	}
	bounded := s.bound(l)
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(bounded) }()
	select {
	case err := <-failed:
		_ = hs.Close()
		return fmt.Errorf("http: %w", err)
	case <-ctx.Done():
	}
	s.stop.Do(func() { close(s.stopping) })
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
	defer cancel()
	if err := hs.Shutdown(grace); err != nil {
		s.log.Warn("http: requests were aborted at shutdown", "error", err)
		_ = hs.Close()
	}
	<-failed
	bounded.closing.Wait() // five seconds at most
	return nil
}

// bound returns l with the bounds and the TLS of the configuration.
func (s *Server) bound(l net.Listener) *boundedListener {
	return &boundedListener{
		Listener: l, tls: s.cfg.TLS, handshakes: s.handshakes, admission: s.admission, heads: s.heads,
		stopping: s.stopping, m: s.instruments,
	}
}

// GiveWay closes the connection that has been unauthenticated for longest, and releases its descriptor for another
// listener. It reports whether there was one.
func (s *Server) GiveWay() bool { return s.admission.CloseOldest(1) }
