package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// testNode is the state machine with a log of one node that is kept nowhere: an
// Engine that does what a cluster does, at once. Faults stand in for what a
// cluster answers in bad times.
type testNode struct {
	*fsm.Machine
	mu      sync.Mutex
	index   uint64
	clock   int64
	limits  turn.Limits
	applied atomic.Uint64 // ops

	writeFault, readFault atomic.Pointer[error]
	panics                atomic.Bool
	notReady              atomic.Pointer[[]string]
	consistency           atomic.Pointer[turn.Consistency] // of the last query
}

const testEpoch = 1_700_000_000_000

func newTestNode(t testing.TB) *testNode {
	m, err := fsm.Open(fsm.Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return &testNode{Machine: m, clock: testEpoch, limits: turn.DefaultLimits()}
}

func (n *testNode) Apply(ctx context.Context, op turn.Op) (turn.Result, error) {
	if n.panics.Load() {
		panic("a defect")
	}
	if f := n.writeFault.Load(); f != nil {
		return turn.Result{}, *f
	}
	if err := ctx.Err(); err != nil {
		return turn.Result{}, turn.Errorf(turn.Unavailable, "%v", err)
	}
	b, err := codec.EncodeOp(op)
	if err != nil {
		return turn.Result{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.index++
	n.applied.Add(1)
	out := n.Machine.Apply(n.index, 1,
		codec.AppendEntry(nil, n.clock, []codec.Command{{Origin: 1, Number: n.index, Op: b}}))
	if len(out) != 1 {
		return turn.Result{}, turn.Errorf(turn.Unavailable, "%v", n.Err())
	}
	if out[0].Err != nil {
		return turn.Result{}, out[0].Err
	}
	return out[0].Result, nil
}

func (n *testNode) Query(_ context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	n.consistency.Store(&c)
	if f := n.readFault.Load(); f != nil {
		return turn.Result{}, *f
	}
	return n.Machine.Query(q)
}

func (n *testNode) Cluster(context.Context) (turn.Cluster, error) {
	if f := n.readFault.Load(); f != nil {
		return turn.Cluster{}, *f
	}
	applied, term := n.Applied()
	return turn.Cluster{ID: "c1", Leader: "n1", Term: term, Serving: true, Nodes: []turn.Node{{
		ID: "n1", RaftAddr: "127.0.0.1:7381", Role: "leader", Applied: applied, Match: applied, Reachable: true,
		Voter: true, Problems: []string{},
	}}}, nil
}

func (n *testNode) Ready() (bool, []string) {
	if r := n.notReady.Load(); r != nil {
		return false, *r
	}
	return true, nil
}

func (n *testNode) Limits() turn.Limits { return n.limits }

// pass moves cluster time on.
func (n *testNode) pass(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock += d.Milliseconds()
}

// failWith makes what follows fail; nil ends that.
func failWith(f *atomic.Pointer[error], err error) {
	if err == nil {
		f.Store(nil)
		return
	}
	f.Store(&err)
}

// testAdmin notes what it is asked to do.
type testAdmin struct {
	asked  []string
	fault  error
	broken error         // ends a backup in its middle; nil: it comes to its end
	rest   io.Reader     // of a backup, if it is not short
	closed chan struct{} // gets a token when a backup's stream is closed; nil: it is not asked
}

func (a *testAdmin) ask(words ...string) error {
	a.asked = append(a.asked, strings.Join(words, " "))
	return a.fault
}

func (a *testAdmin) Checksum(context.Context) (uint64, string, error) {
	return 7, "abc", a.ask("checksum")
}
func (a *testAdmin) HandOver(context.Context) error { return a.ask("transfer") }
func (a *testAdmin) Snapshot(context.Context) error { return a.ask("snapshot") }
func (a *testAdmin) Backup(context.Context) (uint64, int64, io.ReadCloser, error) {
	if err := a.ask("backup"); err != nil {
		return 0, 0, nil, err
	}
	var rest io.Reader = strings.NewReader("state")
	size := int64(len("the state"))
	switch {
	case a.broken != nil:
		rest = iotest.ErrReader(a.broken)
	case a.rest != nil:
		rest, size = a.rest, 1<<40
	}
	return 12, size, backupOf{io.MultiReader(strings.NewReader("the "), rest), a.closed}, nil
}

// backupOf is a backup's stream.
type backupOf struct {
	io.Reader
	closed chan struct{}
}

func (b backupOf) Close() error {
	if b.closed != nil {
		b.closed <- struct{}{}
	}
	return nil
}

func (a *testAdmin) AddNode(_ context.Context, id, addr string) error {
	return a.ask("add", id, addr)
}
func (a *testAdmin) AddLearner(_ context.Context, id, addr string) error {
	return a.ask("add learner", id, addr)
}
func (a *testAdmin) Promote(_ context.Context, id string) error    { return a.ask("promote", id) }
func (a *testAdmin) Demote(_ context.Context, id string) error     { return a.ask("demote", id) }
func (a *testAdmin) RemoveNode(_ context.Context, id string) error { return a.ask("remove", id) }

// testServer is a running Server and a client of it.
type testServer struct {
	t      testing.TB
	node   *testNode
	admin  *testAdmin
	server *Server
	addr   string
	client *http.Client
	stop   func() error // ends Serve and returns what it returned
}

func startServer(t testing.TB, change ...func(*Config)) *testServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startServerAt(t, l, change...)
}

// startServerAt starts a server at l, which it closes.
func startServerAt(t testing.TB, l net.Listener, change ...func(*Config)) *testServer {
	d := &testServer{t: t, node: newTestNode(t), admin: &testAdmin{}, client: &http.Client{
		Transport: &http.Transport{ExpectContinueTimeout: time.Minute},
	}}
	cfg := Config{Engine: d.node, Admin: d.admin, Logger: slog.New(slog.DiscardHandler), Version: "test",
		AdminToken: testToken, AdminTokenFile: "/data/admin-token"}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.server, d.addr = s, l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	d.stop = sync.OnceValue(func() error {
		d.client.CloseIdleConnections()
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if left := s.memory.Left(); left != s.cfg.MemoryBytes {
			t.Errorf("%d bytes of memory were not given back", s.cfg.MemoryBytes-left)
		}
	})
	return d
}

type answer struct {
	status int
	header http.Header
	body   string
}

const testToken = "a token"

// do sends a request, with the admin token unless one of headers, which are
// "Name: value", is Authorization or the server has users.
func (d *testServer) do(method, path, body string, headers ...string) answer {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, value)
	}
	if req.Header.Get("Authorization") == "" && d.server.cfg.Users == nil {
		req.Header.Set("Authorization", "Bearer "+testToken)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// ok is do, and decodes an answer that must be a success.
func (d *testServer) ok(method, path, body string, headers ...string) map[string]any {
	d.t.Helper()
	a := d.do(method, path, body, headers...)
	if a.status != http.StatusOK {
		d.t.Fatalf("%s %s %.200s: status %d: %s", method, path, body, a.status, a.body)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		d.t.Fatalf("%s %s: %v: %s", method, path, err, a.body)
	}
	return m
}

// fails is do for what must fail, with the body's error.
func (d *testServer) fails(status int, code, method, path, body string, headers ...string) errorBody {
	d.t.Helper()
	a := d.do(method, path, body, headers...)
	var e errorReply
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		d.t.Fatalf("%s %s %.200s: status %d, not JSON: %s", method, path, body, a.status, a.body)
	}
	if a.status != status || e.Error.Code != code || e.Error.Message == "" {
		d.t.Fatalf("%s %s %.200s: status %d: %s; want %d %s", method, path, body, a.status, a.body, status, code)
	}
	return e.Error
}

// append appends payloads to session s and fails the test if that fails.
func (d *testServer) append(s string, payloads ...string) map[string]any {
	d.t.Helper()
	return d.ok("POST", "/v1/sessions/"+s+"/messages", `{"messages":[{"data":`+
		strings.Join(payloads, `},{"data":`)+`}]}`)
}

// eventually waits until ok holds, which something else brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in a minute: not %s", what)
		}
	}
}

var errLost = errors.New("the connection was lost")
