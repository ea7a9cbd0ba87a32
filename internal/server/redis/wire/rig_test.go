package wire

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/internal/resp"
)

const (
	readTime  = 4 * time.Second
	writeTime = 8 * time.Second
)

// rig is what wires have in common, and what they log.
type rig struct {
	Shared
	log    logtest.Text
	memory account
}

func newRig() *rig {
	r := &rig{memory: 1 << 30}
	r.Shared = Shared{Log: slog.New(slog.NewTextHandler(&r.log, nil)), ReadTimeout: readTime, WriteTimeout: writeTime,
		KeptBytes: keptChunk, Handshakes: handshakes.New(1)}
	return r
}

// wire returns the wire of one end of a connection.
func (r *rig) wire(t *testing.T, nc net.Conn) *Wire {
	w := New(t.Context(), nc, &r.Shared, &r.memory)
	t.Cleanup(w.Close)
	return w
}

// pipe returns a wire whose client is in memory, so that its deadlines pass by the clock of a bubble.
func (r *rig) pipe(t *testing.T) (*Wire, net.Conn) {
	ours, client := net.Pipe()
	t.Cleanup(func() { client.Close() })
	return r.wire(t, ours), client
}

// certificate returns what both ends of a TLS connection need, without an authority.
func certificate() *tls.Config {
	server := httptest.NewTLSServer(nil) // it has one
	server.Close()
	return &tls.Config{Certificates: server.TLS.Certificates, InsecureSkipVerify: true, SessionTicketsDisabled: true}
}

func shakeHands(t *testing.T, w *Wire, client *tls.Conn) {
	t.Helper()
	shaken := make(chan error)
	go func() { shaken <- client.Handshake() }()
	if err := errors.Join(w.ShakeHands(), <-shaken); err != nil {
		t.Fatal(err)
	}
}

// sockets returns a wire whose client is at the other end of a pair of sockets. What either end has written, the
// other can read at once.
func (r *rig) sockets(t *testing.T) (*Wire, net.Conn) {
	ours, client := pair(t)
	return r.wire(t, ours), client
}

// tcp is like sockets, with a connection of the network.
func (r *rig) tcp(t *testing.T) (*Wire, net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ours, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return r.wire(t, ours), client
}

// tls is like sockets, with both ends past the handshake.
func (r *rig) tls(t *testing.T) (*Wire, net.Conn) {
	ours, plain := pair(t)
	config := certificate()
	w, client := r.wire(t, tls.Server(ours, config)), tls.Client(plain, config)
	shakeHands(t, w, client)
	return w, client
}

func pair(t *testing.T) (ours, client net.Conn) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "socket")
		if ends[i], err = net.FileConn(file); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	t.Cleanup(func() { ends[1].Close() })
	return ends[0], ends[1]
}

// reader returns the reader of a wire's requests.
func reader(w *Wire) *resp.RequestReader {
	return resp.NewRequestReader(w.Input(func() {}), resp.Limits{})
}

// send writes all of p, or fails.
func send(t *testing.T, to net.Conn, p string) {
	t.Helper()
	if _, err := to.Write([]byte(p)); err != nil {
		t.Fatal(err)
	}
}

// logged fails unless the log has one line with a text, or none if that is empty.
func (r *rig) logged(t *testing.T, text string) {
	t.Helper()
	lines := strings.Count(r.log.String(), "\n")
	if text == "" && lines > 0 || text != "" && (lines != 1 || !strings.Contains(r.log.String(), text)) {
		t.Errorf("logged is %q, want one line with %q", r.log.String(), text)
	}
}
