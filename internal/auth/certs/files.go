package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// Files names PEM files.
type Files struct {
	Cert string // a certificate, and those between it and its authority
	Key  string // its private key
	CA   string // authorities whose certificates the other side must show; "": none need be shown
}

// Config configures a Store. A zero in a field but Files means its default.
type Config struct {
	Files
	Name   string           // of what the certificates are for, in the log
	Logger *slog.Logger     // slog.Default()
	Now    func() time.Time // time.Now
}

const (
	// lookEvery is how often handshakes look whether the files have changed.
	lookEvery = 5 * time.Second
	// warnBefore is how long before the end of a certificate warnings begin, one a
	// day.
	warnBefore = 30 * 24 * time.Hour
)

// Store has the certificates that are in files. Open connections are not
// touched when they change; new ones have the new ones. What cannot be read
// leaves them as they were. Its methods may be called by any goroutine.
type Store struct {
	cfg Config
	now atomic.Pointer[loaded]

	mu     sync.Mutex
	looked time.Time
	seen   [3]stamp
	warned time.Time
}

// loaded is one reading of the files.
type loaded struct {
	cert   tls.Certificate
	ca     *x509.CertPool // nil: none
	server *tls.Config
}

// stamp tells a file from a changed one.
type stamp struct {
	mod  time.Time
	size int64
}

// Open reads the files. It starts nothing.
func Open(cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{cfg: cfg}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.loadLocked()
}

// Reload reads the files again.
func (s *Store) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reloadLocked()
}

func (s *Store) reloadLocked() error {
	err := s.loadLocked()
	if err != nil {
		s.cfg.Logger.Error("cannot load certificates; they remain as they were", "of", s.cfg.Name, "error", err)
	}
	if descriptors.Missing(err) {
		s.seen = [3]stamp{} // that says nothing about the files: they are read at the next look
	}
	return err
}

func (s *Store) loadLocked() error {
	s.looked, s.seen = s.cfg.Now(), s.stamps()
	cert, err := tls.LoadX509KeyPair(s.cfg.Cert, s.cfg.Key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", s.cfg.Cert, s.cfg.Key, err)
	}
	l := &loaded{cert: cert}
	if s.cfg.CA != "" {
		if l.ca, err = Pool(s.cfg.CA); err != nil {
			return err
		}
	}
	l.server = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		NextProtos: []string{"http/1.1"}}
	// Small records at the beginning of a connection cost a write each; answers are small anyway.
	l.server.DynamicRecordSizingDisabled = true
	if l.ca != nil {
		l.server.ClientAuth, l.server.ClientCAs = tls.RequireAndVerifyClientCert, l.ca
		l.server.SessionTicketsDisabled = true // so that each connection shows a certificate
	}
	s.now.Store(l)
	s.cfg.Logger.Info("certificate", "of", s.cfg.Name, "file", s.cfg.Cert, "subject", cert.Leaf.Subject.String(),
		"expires", cert.Leaf.NotAfter.UTC().Format(time.RFC3339))
	s.warned = time.Time{}
	s.warnLocked(cert.Leaf)
	return nil
}

// Pool reads certificates of authorities.
func Pool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates of authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificates in PEM form", file)
	}
	return pool, nil
}

// Expires returns when the certificate expires that is shown now.
func (s *Store) Expires() time.Time { return s.current().cert.Leaf.NotAfter }

func (s *Store) stamps() (st [3]stamp) {
	for i, name := range []string{s.cfg.Cert, s.cfg.Key, s.cfg.CA} {
		if info, err := os.Stat(name); err == nil {
			st[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return st
}

func (s *Store) warnLocked(leaf *x509.Certificate) {
	now := s.cfg.Now()
	left := leaf.NotAfter.Sub(now)
	if left > warnBefore || now.Sub(s.warned) < 24*time.Hour {
		return
	}
	s.warned = now
	text := "the certificate expires soon; replace the files, the node notices"
	if left <= 0 {
		text = "the certificate has expired; replace the files, the node notices"
	}
	s.cfg.Logger.Warn(text, "of", s.cfg.Name, "file", s.cfg.Cert, "expires", leaf.NotAfter.UTC().Format(time.RFC3339))
}

// current returns what holds for a new connection, looking at the files now and
// then.
func (s *Store) current() *loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Now().Sub(s.looked) >= lookEvery {
		s.looked = s.cfg.Now()
		if s.stamps() != s.seen {
			_ = s.reloadLocked() // logged
		}
		s.warnLocked(s.now.Load().cert.Leaf)
	}
	return s.now.Load()
}

// Server returns how to accept connections. With a CA, the other side must show a
// certificate for clients that it has signed.
func (s *Store) Server() *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config,
		error) {
		return s.current().server, nil
	}}
}

// Client returns how to dial host, whose certificate must name it and be signed by
// the CA.
func (s *Store) Client(host string) *tls.Config {
	l := s.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{l.cert}, RootCAs: l.ca, ServerName: host,
		DynamicRecordSizingDisabled: true,
	}
}

// ServerForEqual is Server for those who accept and dial each other: a certificate
// that is one for clients only does not count.
func (s *Store) ServerForEqual() *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := s.current().server.Clone()
		c.VerifyConnection = forServers
		return c, nil
	}}
}

// forServers refuses the certificate of a mere client, which is verified otherwise.
func forServers(state tls.ConnectionState) error {
	if leaf := state.PeerCertificates[0]; !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		return fmt.Errorf("the certificate of %s is for clients only", leaf.Subject)
	}
	return nil
}
