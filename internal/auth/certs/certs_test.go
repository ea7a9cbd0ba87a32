package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue makes a certificate and returns its files, with the authority ca.
func issue(t *testing.T, dir, name string, kind Kind, life time.Duration) Files {
	t.Helper()
	r := Request{Dir: dir, Name: name, Kind: kind, CA: "ca", From: time.Now(), For: life, Force: true}
	if kind == Node {
		r.Hosts = []string{"127.0.0.1", "node.example"}
	}
	if err := Issue(r); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, name)
	return Files{Cert: base + ".crt", Key: base + ".key", CA: filepath.Join(dir, "ca.crt")}
}

func authorityIn(t *testing.T) (dir string) {
	dir = t.TempDir()
	issue(t, dir, "ca", Authority, 24*365*time.Hour)
	return dir
}

func store(t *testing.T, f Files, log io.Writer) *Store {
	t.Helper()
	s, err := Open(Config{Files: f, Name: "test", Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// meet shakes hands, and sends a byte back and forth, over TCP.
func meet(t *testing.T, server, client *tls.Config) (c, s *tls.Conn, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *tls.Conn, 1)
	failed := make(chan error, 1)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			failed <- err
			return
		}
		s := tls.Server(raw, server)
		t.Cleanup(func() { s.Close() })
		s.SetDeadline(time.Now().Add(20 * time.Second))
		if err := s.Handshake(); err != nil {
			failed <- err
			raw.Close()
			return
		}
		accepted <- s
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dialled := tls.Client(raw, client)
	t.Cleanup(func() { dialled.Close() })
	dialled.SetDeadline(time.Now().Add(20 * time.Second))
	if err := dialled.Handshake(); err != nil {
		return nil, nil, err
	}
	select {
	case s := <-accepted:
		return dialled, s, nil
	case err := <-failed:
		return nil, nil, err
	}
}

func echo(t *testing.T, c, s *tls.Conn) {
	t.Helper()
	b := []byte{7}
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(s, b); err != nil {
		t.Fatal(err)
	}
}

// Only nodes with certificates of the same authority, made for nodes, meet.
func TestNodesMeet(t *testing.T) {
	ours, theirs := authorityIn(t), authorityIn(t)
	a := store(t, issue(t, ours, "a", Node, time.Hour), io.Discard)
	b := store(t, issue(t, ours, "b", Node, time.Hour), io.Discard)
	client := store(t, issue(t, ours, "c", Client, time.Hour), io.Discard)
	stranger := store(t, issue(t, theirs, "x", Node, time.Hour), io.Discard)
	server := a.ServerForEqual()
	for _, c := range []struct {
		what   string
		client *tls.Config
		ok     bool
	}{
		{"a node", b.Client("127.0.0.1"), true},
		{"a node that knows another name", b.Client("node.example"), true},
		{"a node that dialled somebody else", b.Client("127.0.0.2"), false},
		{"a node of another authority", stranger.Client("127.0.0.1"), false},
		{"a client", client.Client("127.0.0.1"), false},
		{"somebody without a certificate", &tls.Config{InsecureSkipVerify: true}, false},
		{"somebody with a foreign certificate who trusts everybody",
			&tls.Config{InsecureSkipVerify: true, Certificates: stranger.Client("").Certificates}, false},
	} {
		if _, _, err := meet(t, server, c.client); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	// At a listener for clients, those of clients are what is wanted.
	if _, _, err := meet(t, a.Server(), client.Client("127.0.0.1")); err != nil {
		t.Errorf("a client at a listener: %v", err)
	}
}

// New connections have new certificates, and those that stand go on.
func TestReload(t *testing.T) {
	dir := authorityIn(t)
	files := issue(t, dir, "a", Node, time.Hour)
	files.CA = ""
	var log bytes.Buffer
	now := time.Now()
	s, err := Open(Config{Files: files, Name: "clients", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := Pool(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	trusting := &tls.Config{RootCAs: pool, ServerName: "node.example"}
	serial := func(c *tls.Conn) string { return c.ConnectionState().PeerCertificates[0].SerialNumber.String() }
	oldC, oldS, err := meet(t, s.Server(), trusting)
	if err != nil {
		t.Fatal(err)
	}
	issue(t, dir, "a", Node, 48*time.Hour)
	now = now.Add(lookEvery)
	newC, newS, err := meet(t, s.Server(), trusting)
	if err != nil {
		t.Fatal(err)
	}
	if serial(oldC) == serial(newC) {
		t.Error("a new connection has the old certificate")
	}
	echo(t, oldC, oldS)
	echo(t, newC, newS)

	// What cannot be read leaves everything as it was.
	if err := os.WriteFile(files.Cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || !strings.Contains(log.String(), "remain as they were") {
		t.Errorf("nonsense: %v", err)
	}
	again, _, err := meet(t, s.Server(), trusting)
	if err != nil || serial(again) != serial(newC) {
		t.Errorf("after nonsense: %v", err)
	}
	issue(t, dir, "a", Node, 24*time.Hour*90)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if third, _, err := meet(t, s.Server(), trusting); err != nil || serial(third) == serial(newC) {
		t.Errorf("Reload did not read the new one: %v", err)
	}
}

func TestExpiryIsLogged(t *testing.T) {
	dir := authorityIn(t)
	files := issue(t, dir, "a", Node, 90*24*time.Hour)
	var log bytes.Buffer
	now := time.Now()
	s, err := Open(Config{Files: files, Name: "clients", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "expires=") || strings.Contains(log.String(), "WARN") {
		t.Errorf("at first: %s", &log)
	}
	warnings := func() int { return strings.Count(log.String(), "level=WARN") }
	for i, days := range []int{59, 2, 0, 1, 40} { // 31, 29, 29, 28 days left, and gone
		now = now.Add(time.Duration(days)*24*time.Hour + lookEvery)
		s.current()
		if want := []int{0, 1, 1, 2, 3}[i]; warnings() != want {
			t.Errorf("step %d: %d warnings: %s", i, warnings(), &log)
		}
	}
	if !strings.Contains(log.String(), "has expired") {
		t.Errorf("at the end: %s", &log)
	}
}

func TestIssueOverwritesNothing(t *testing.T) {
	dir := authorityIn(t)
	r := Request{Dir: dir, Name: "a", Kind: Client, CA: "ca", From: time.Now(), For: time.Hour}
	if err := Issue(r); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, "a.key"))
	if err := Issue(r); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("again: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "a.crt")); err != nil {
		t.Fatal(err)
	}
	if err := Issue(r); err == nil {
		t.Error("a key is overwritten")
	}
	after, _ := os.ReadFile(filepath.Join(dir, "a.key"))
	info, _ := os.Stat(filepath.Join(dir, "a.key"))
	if !bytes.Equal(before, after) || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is another, or has mode %v", info.Mode())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.*.*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, bad := range []Request{{Dir: dir, Name: "n", Kind: Node, CA: "ca"},
		{Dir: dir, Name: "n", Kind: Client, CA: "a"}, {Dir: dir, Name: "n", Kind: Client, CA: "none"}} {
		if Issue(bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestNodeNames(t *testing.T) {
	dir := authorityIn(t)
	leaf := func(name string, kind Kind) *x509.Certificate {
		return store(t, issue(t, dir, name, kind, time.Hour), io.Discard).current().cert.Leaf
	}
	n1, shared := leaf("n1", Node), leaf("shared", Node)
	for _, c := range []struct {
		names NodeNames
		cert  *x509.Certificate
		id    string
		ok    bool
	}{
		{nil, n1, "n1", true},
		{nil, n1, "n2", false},
		{nil, n1, "node.example", true}, // a DNS name
		{nil, shared, "n1", false},
		{NodeNames{"": {"shared"}}, shared, "n1", true},
		{NodeNames{"": {"shared"}}, n1, "n2", false},
		{NodeNames{"n1": {"shared"}}, shared, "n1", true},
		{NodeNames{"n1": {"shared"}}, shared, "n2", false},
		{NodeNames{"n1": {"shared"}}, n1, "n1", true},
		{NodeNames{"": {""}}, &x509.Certificate{}, "n1", false},
		{nil, &x509.Certificate{}, "", false},
	} {
		if err := c.names.Verify(c.cert, c.id); (err == nil) != c.ok {
			t.Errorf("%v: the certificate of %s as node %s: %v", c.names, c.cert.Subject, c.id, err)
		}
	}
}
