package peer

import (
	"bytes"
	"crypto/sha256"

	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func key(s string) []byte { return bytes.Repeat([]byte(s), MinKey) }

// knows is the option of a node with secrets; the first proves.
func knows(optional bool, keys ...string) func(*Config) {
	return func(c *Config) {
		c.Secret = &Secret{Optional: optional}
		for _, k := range keys {
			c.Secret.Keys = append(c.Secret.Keys, key(k))
		}
	}
}

// Both sides prove the secret, whatever the connection is for, and a node that does not
// know it is told so, and told of, nothing else.
func TestSecret(t *testing.T) {
	none := func(*Config) {}
	for _, test := range []struct {
		dialer, acceptor func(*Config)
		meets            bool
	}{
		{knows(false, "a"), knows(false, "a"), true},
		{knows(false, "a"), knows(false, "b"), false},
		{none, knows(false, "a"), false},
		{knows(false, "a"), none, false},
		// A new secret is introduced: first it is accepted, then used.
		{knows(false, "a", "b"), knows(false, "a"), true},
		{knows(false, "a"), knows(false, "a", "b"), true},
		{knows(false, "b", "a"), knows(false, "a", "b"), true},
		{knows(false, "a", "b"), knows(false, "b", "a"), true},
		{knows(false, "b", "a"), knows(false, "a"), false},
		// The first secret is introduced.
		{knows(true, "a"), none, true},
		{none, knows(true, "a"), true},
		{knows(true, "a"), knows(true, "a"), true},
		{knows(true, "a"), knows(false, "a"), true},
		{knows(false, "a"), knows(true, "a"), true},
		{knows(true, "b"), knows(true, "a"), false},
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			var judged atomic.Int32
			judges := func(c *Config) { c.Admit = func(Meeting) error { judged.Add(1); return nil } }
			a, b := start(t, "a", test.dialer), start(t, "b", test.acceptor, judges)
			var r *Refusal
			if _, err := a.Probe(t.Context(), b.addr); (err == nil) != test.meets {
				t.Errorf("probe: %v", err)
			} else if err != nil && !errors.Is(err, errNoSecret) &&
				(!errors.As(err, &r) || r.Code != RefusedCredential) {
				t.Errorf("probe: refused with %v", err)
			} else if err != nil && !strings.Contains(err.Error(), "--cluster-secret-file") {
				t.Errorf("what to do is not said: %v", err)
			}
			s, err := a.Streams().Dial(b.addr, 20*time.Second)
			if (err == nil) != test.meets {
				t.Errorf("stream: %v", err)
			}
			if err == nil {
				s.Close()
			}
			if !test.meets {
				if judged.Load() > 0 {
					t.Error("b looked at what a node without the secret says")
				}
				return
			}
			join(t, a, b, "b")
			if got, err := a.Call(t.Context(), "b", 1, []byte("x")); string(got) != "echo x" {
				t.Errorf("call: %q, %v", got, err)
			}
		})
	}
}

// What was overheard of one connection is good for no other, and neither for the
// other direction: in each case the attacker knows all but the secret.
func TestProofsAreNotReplayed(t *testing.T) {
	s := &Secret{Keys: [][]byte{key("a")}}
	b := start(t, "b", knows(false, "a"))
	dial := func() net.Conn {
		c, err := net.Dial("tcp", b.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second))
		return c
	}
	heard := &tee{ReadWriter: dial()} // as a, which knows the secret
	if id, err := s.meet(heard, "a"); id != "b" || err != nil {
		t.Fatalf("%q, %v", id, err)
	}
	challenge := heard.sent[:messageHeader+nonceSize+2+1]
	attempts := map[string]func(answer message) []byte{
		"a replay":          func(message) []byte { return heard.sent[len(challenge):] },
		"the node's own":    func(m message) []byte { return signed(m.body[len(m.body)-sha256.Size:]) },
		"of another secret": func(message) []byte { return signed(proof(key("b"), roleDialer, party{}, party{})) },
		"nothing":           func(message) []byte { return signed(nil) },
		"a hello":           func(message) []byte { return helloOf("a") },
	}
	for name, attempt := range attempts {
		c := dial()
		c.Write(challenge)
		m, err := readMessage(c)
		if err != nil || m.code != proofAnswer {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		c.Write(append(attempt(m), helloOf("a")...))
		m, err = readMessage(c)
		if err != nil || Code(m.code) != RefusedCredential || bytes.Contains(m.body, []byte("i-b")) {
			t.Errorf("%s: answered with %+v, %v", name, m, err)
		}
	}
}

type tee struct {
	io.ReadWriter
	sent []byte
}

func (r *tee) Write(b []byte) (int, error) {
	r.sent = append(r.sent, b...)
	return r.ReadWriter.Write(b)
}

func signed(p []byte) []byte {
	var b bytes.Buffer
	message{secretProof, proofOfDialer, p}.write(&b)
	return b.Bytes()
}

func helloOf(id string) []byte {
	var b bytes.Buffer
	writeHello(&b, uint8(RPC),
		appendGreeting(nil, Facts{ClusterID: "c", NodeID: id, Incarnation: "i-" + id}, "", maxFact))
	return b.Bytes()
}

// A node that knows the secret is believed to be itself and no other.
func TestProofOfOneNodeIsNoneOfAnother(t *testing.T) {
	b := start(t, "b", knows(false, "a"))
	liar := start(t, "x", knows(false, "a"), func(c *Config) {
		asked := 0
		c.Self = func() Facts {
			if asked++; asked == 1 {
				return Facts{NodeID: "x"} // in its proof
			}
			return Facts{NodeID: "a"}
		}
	})
	var r *Refusal
	if _, err := liar.Probe(t.Context(), b.addr); !errors.As(err, &r) || r.Code != RefusedCredential {
		t.Errorf("x says that it is a: %v", err)
	}
}

// A certificate is one of the node that it names: on either side another one is refused,
// and its refusal is not believed.
func TestCertificatesNameTheirNode(t *testing.T) {
	shared := mutual(t)
	named := func(id string) func(*Config) {
		return func(c *Config) {
			own := *shared
			own.Verify = func(_ *x509.Certificate, node string) error {
				if node != id {
					return fmt.Errorf("the certificate is of %s, not %s", id, node)
				}
				return nil
			}
			c.TLS = &own
		}
	}
	check := func(dialer, acceptor func(*Config)) error {
		told := make(chan *Refusal, 8)
		a := start(t, "a", dialer, func(c *Config) { c.Refused = func(_ Meeting, r *Refusal) { told <- r } })
		b := start(t, "b", acceptor, func(c *Config) {
			c.Admit = func(Meeting) error { return &Refusal{RefusedIncarnation, "no"} }
		})
		_, err := a.Probe(t.Context(), b.addr)
		var r *Refusal
		if !errors.As(err, &r) || (len(told) > 0) != (r.Code == RefusedIncarnation) {
			t.Errorf("%v, and the node was told %d refusals", err, len(told))
		}
		return err
	}
	var r *Refusal
	if err := check(named("b"), named("a")); !errors.As(err, &r) || r.Code != RefusedIncarnation {
		t.Errorf("with the right ones: %v", err)
	}
	for name, err := range map[string]error{
		"the dialer's is another's":   check(named("b"), named("c")),
		"the acceptor's is another's": check(named("c"), named("a")),
	} {
		if !errors.As(err, &r) || r.Code != RefusedCredential {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Connections that say nothing, as many as are allowed in their handshake and more, do
// not keep a node out, and each is closed in time; with TLS, too.
func TestSilentConnectionsKeepNoNodeOut(t *testing.T) {
	for name, v := range map[string]*TLS{"plain": nil, "with TLS": mutual(t)} {
		t.Run(name, func(t *testing.T) {
			var lines atomic.Int64
			few := func(c *Config) {
				c.TLS, c.Bounds.Greetings, c.Logger = v, 8, counting(&lines)
			}
			b := start(t, "b", few, func(c *Config) { c.Timing.Handshake = time.Minute })
			var silent []net.Conn
			for range 200 {
				c, err := net.Dial("tcp", b.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				silent = append(silent, c)
			}
			a := start(t, "a", few)
			join(t, a, b, "b")
			for _, c := range silent[:200-8] {
				c.SetReadDeadline(time.Now().Add(20 * time.Second))
				if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
					t.Fatalf("a connection is not closed: %v", err)
				}
			}
			if n := lines.Load(); n > 40 {
				t.Errorf("%d lines are logged", n)
			}
			in := start(t, "c", few, func(c *Config) { c.Timing.Handshake = 100 * time.Millisecond })
			c, err := net.Dial("tcp", in.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
				t.Errorf("a handshake has no deadline: %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// No node can say anything through a closed port.
func TestClosedPort(t *testing.T) {
	b := start(t, "b", func(c *Config) { c.Closed = "it has users and no credential" })
	a := start(t, "a")
	if facts, err := a.Probe(t.Context(), b.addr); err == nil || facts != (Facts{}) {
		t.Errorf("%+v, %v", facts, err)
	}
	other := start(t, "c")
	join(t, b, other, "c") // it may dial
}

// Cut ends the connections of a node, those that it dialed too.
func TestCut(t *testing.T) {
	var calls atomic.Int32
	a, b := start(t, "a"), start(t, "b", func(c *Config) {
		c.Connected = func(string) { calls.Add(1) }
	})
	out, err := b.Streams().Dial(a.addr, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.Streams().Accept()
	if err != nil {
		t.Fatal(err)
	}
	join(t, b, a, "a")
	a.Cut(func(f Facts, _ Purpose) bool { return f.NodeID == "x" })
	if _, err := b.Call(t.Context(), "a", 1, nil); err != nil {
		t.Fatalf("another node was cut: %v", err)
	}
	a.Cut(func(f Facts, _ Purpose) bool { return f.NodeID == "b" })
	for _, c := range []net.Conn{in, out} {
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("a stream goes on: %v", err)
		}
	}
	until(t, func() bool { return calls.Load() >= 2 }) // its requests had to connect again
}

func FuzzSecret(f *testing.F) {
	s := &Secret{Keys: [][]byte{key("a")}}
	f.Add(newParty("n1").append(nil), []byte{})
	f.Add([]byte{}, signed(make([]byte, sha256.Size)))
	f.Fuzz(func(t *testing.T, first, then []byte) {
		c := &struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(then), io.Discard}
		if id, err := s.admit(c, message{secretProof, proofChallenge, first}, "b"); err == nil {
			t.Fatalf("%q got in", id)
		}
		var m bytes.Buffer
		message{secretProof, proofAnswer, first}.write(&m)
		c.Reader = &m
		if id, err := s.meet(c, "b"); err == nil {
			t.Fatalf("%q is taken for a node", id)
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add(helloOf("n1"))
	f.Add(signed(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMessage(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if m.write(&again); !bytes.HasPrefix(b, again.Bytes()) {
			t.Fatalf("read %x from %x", again.Bytes(), b)
		}
		g := fields{b: m.body}
		if facts, text := g.greeting(maxReason); !g.bad && (len(facts.NodeID) > maxFact || len(text) > maxReason) {
			t.Fatalf("%+v, %q", facts, text)
		}
	})
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(bytes.Count(b, []byte("\n"))))
	return len(b), nil
}

func counting(n *atomic.Int64) *slog.Logger {
	return slog.New(slog.NewTextHandler(counter{n}, nil))
}
