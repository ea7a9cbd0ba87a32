package redis

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A client that leaves while a request of it blocks is noticed, whatever it has sent
// behind that request and in whichever way it leaves. Nothing of it takes place.
func TestClientThatLeavesWhileItBlocks(t *testing.T) {
	t.Run("redis", func(t *testing.T) { leaveWhileBlocked(t, realRedis(t), dialTCP, blockingRequests) })
	t.Run("turnlog", func(t *testing.T) {
		s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), PipelineBytes: 32 << 10})
		leaveWhileBlocked(t, s.addr(), dialTCP, append(blockingRequests, "TURN.TAIL l BLOCK 0"))
	})
	t.Run("TLS", func(t *testing.T) {
		s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), PipelineBytes: 32 << 10,
			Listener: listenTLS(t)})
		leaveWhileBlocked(t, s.addr(), dialTLS, append(blockingRequests, "TURN.TAIL l BLOCK 0"))
	})
	t.Run("without memory", func(t *testing.T) {
		s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), ReceiveBytes: 1})
		leaveWhileBlocked(t, s.addr(), dialTCP, blockingRequests[:1])
	})
}

var blockingRequests = []string{
	"BLPOP l 0", "BRPOP m l 0", "BLMOVE l m LEFT RIGHT 0", "BRPOPLPUSH l m 0", "BLMPOP 0 2 l m LEFT",
	"XREAD BLOCK 0 STREAMS s $", "WAIT 3 0",
}

// leavings are the ways in which clients end connections.
var leavings = map[string]func(nc net.Conn) error{
	"close": func(nc net.Conn) error { return nc.Close() },
	"shutdown": func(nc net.Conn) error {
		if tls, ok := nc.(*tls.Conn); ok {
			if err := tls.CloseWrite(); err != nil {
				return err
			}
		}
		return socketOf(nc).CloseWrite()
	},
	"reset": func(nc net.Conn) error {
		socketOf(nc).SetLinger(0)
		return socketOf(nc).Close()
	},
}

// socketOf returns the socket below TLS, if nc has that.
func socketOf(nc net.Conn) *net.TCPConn {
	if secured, ok := nc.(*tls.Conn); ok {
		nc = secured.NetConn()
	}
	return nc.(*net.TCPConn)
}

func leaveWhileBlocked(t *testing.T, addr string, dial func(testing.TB, string) *client, requests []string) {
	other := dial(t, addr)
	behind := "SET foo 1\r\nINCR foo\r\n"
	pipelines := map[string]string{
		"nothing": "", "PING": "PING\r\n", "writes": behind, "half a request": "*2\r\n$3\r\nGET\r\n$100\r\nabc",
		"8 KiB": behind + strings.Repeat("PING\r\n", 8<<10/6),
		// More than is kept of it here, and less than sockets hold.
		"100 KiB": behind + strings.Repeat("PING\r\n", 100<<10/6),
	}
	for _, request := range requests {
		for name, pipeline := range pipelines {
			for how, leave := range leavings {
				c := dial(t, addr)
				id := strconv.FormatInt(c.do("CLIENT", "ID").Int, 10)
				if _, err := io.WriteString(c.nc, request+"\r\n"+pipeline); err != nil {
					t.Fatal(err)
				}
				other.awaitBlocked(1)
				if err := leave(c.nc); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s, behind it %s, then %s", request, name, how)
				other.awaitLeft(what, id)
				if how == "shutdown" {
					if left, err := io.ReadAll(c.nc); len(left) > 0 || err != nil && err != io.EOF && !isReset(err) {
						t.Errorf("%s: %.100q, %v", what, left, err)
					}
				}
				c.nc.Close()
				other.awaitBlocked(0)
				other.expect("0", "EXISTS", "foo")
				other.expect("1", "RPUSH", "l", "stays")
				other.expect(`["stays"]`, "LRANGE", "l", "0", "-1")
				other.expect("1", "DEL", "l", "foo")
				if t.Failed() {
					t.Fatal(what)
				}
			}
		}
	}
}

// isReset: a server that closes a socket with input that it has not read.
func isReset(err error) bool { return strings.Contains(err.Error(), "connection reset") }

// awaitLeft waits until a connection is no longer listed.
func (c *client) awaitLeft(what, id string) {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); c.do("CLIENT", "LIST", "ID", id).Text() != ""; {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: the connection is still there", what)
		}
	}
}

// What is pipelined behind a request that blocks is answered when that has ended,
// whether it is longer than what is kept of it or not.
func TestPipelineBehindABlockedRequest(t *testing.T) {
	for name, listener := range map[string]func(testing.TB) net.Listener{"TCP": listen, "TLS": listenTLS} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), PipelineBytes: 64 << 10,
				Listener: listener(t)})
			dial := map[string]func(testing.TB, string) *client{"TCP": dialTCP, "TLS": dialTLS}[name]
			c, other := dial(t, s.addr()), dial(t, s.addr())
			const n = 20_000
			sent := make(chan error, 1)
			go func() { // it cannot be sent whole before it is read
				var b bytes.Buffer
				for i := range n {
					if i%(n/4) == 0 {
						b.WriteString("BLPOP l 0\r\n")
					}
					fmt.Fprintf(&b, "ECHO %d\r\n", i)
				}
				_, err := c.nc.Write(b.Bytes())
				sent <- err
			}()
			for i := range n {
				if i%(n/4) == 0 {
					other.awaitBlocked(1)
					other.expect("1", "RPUSH", "l", "v")
					if got := show(c.receive()); got != `["l" "v"]` {
						t.Fatal(got)
					}
				}
				if got, want := show(c.receive()), strconv.Quote(strconv.Itoa(i)); got != want {
					t.Fatalf("%s, want %s", got, want)
				}
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if used := s.Metrics().ReceiveBytes; used != 0 {
				t.Errorf("%d bytes of the budget are still taken", used)
			}
		})
	}
}

// Clients that connect, block and leave leave nothing behind.
func TestManyThatBlockAndLeave(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	other := dialTCP(t, s.addr())
	const n = 200
	var all []*client
	for range n {
		c := dialTCP(t, s.addr())
		io.WriteString(c.nc, "BLPOP l 0\r\nSET foo 1\r\n")
		all = append(all, c)
	}
	other.awaitBlocked(n)
	for _, c := range all {
		c.nc.Close()
	}
	eventually(t, "they have gone", func() bool { return s.Metrics().Connections == 1 })
	other.awaitBlocked(0)
	other.expect("1", "RPUSH", "l", "stays")
	other.expect("0", "EXISTS", "foo")
}

// What goes through keys and elements ends when its client goes, in the middle of what it has found by then.
func TestScansEndWhenTheClientGoes(t *testing.T) {
	e := &hesitant{Engine: openEngine(t, turn.DefaultLimits()), tokens: make(chan struct{})}
	s := open(t, Config{Engine: e})
	good := dial(t, s.addr())
	good.scannable(300)
	cursor := good.do("HSCAN", "HSCAN", "0").Elems[0].Text()
	for i, request := range []string{"SCAN 0 MATCH *a*", "KEYS *", "HSCAN HSCAN " + cursor} {
		c := dialTCP(t, s.addr())
		c.expect("PONG", "PING")
		e.hesitates.Store(true)
		c.send(strings.Fields(request)...)
		c.send("PING") // so that it is not answered inline
		if err := c.w.Flush(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the engine is asked", func() bool { return e.waiting.Load() == 1 })
		if i == 2 { // a request of one key does not keep the next from being read
			c.nc.Close()
		} else {
			socketOf(c.nc).CloseWrite()
		}
		eventually(t, "the server knows that the client has gone", func() bool {
			for _, conn := range s.conns.all() {
				if conn.client.Remote.String() == c.nc.LocalAddr().String() {
					return asClient{conn}.HasLeft()
				}
			}
			return true
		})
		e.hesitates.Store(false)
		e.tokens <- struct{}{}
		eventually(t, "the connection has ended", func() bool { return s.Metrics().Connections == 1 })
		name := strings.ToLower(strings.Fields(request)[0])
		for _, m := range s.Metrics().Commands {
			if m.Name == name && m.Errors != 1 {
				t.Errorf("%s goes on when the client has gone", request)
			}
		}
	}
}

func dialTCP(t testing.TB, addr string) *client { return dial(t, addr) }

func dialTLS(t testing.TB, addr string) *client {
	t.Helper()
	c := dial(t, addr)
	return clientOn(t, tls.Client(c.nc, &tls.Config{InsecureSkipVerify: true}))
}

// listenTLS listens with a certificate that no authority has signed.
func listenTLS(t testing.TB) net.Listener {
	t.Helper()
	return tls.NewListener(listen(t), certificate(t))
}

func certificate(t testing.TB) *tls.Config {
	t.Helper()
	web := httptest.NewTLSServer(nil) // it has one
	web.Close()
	return &tls.Config{Certificates: web.TLS.Certificates}
}
