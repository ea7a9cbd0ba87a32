package turnlog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

func open(t *testing.T, dir string) *turnlog.DB {
	t.Helper()
	db, err := turnlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func add(t *testing.T, db *turnlog.DB, session, text string) turn.Result {
	t.Helper()
	r, err := db.Session(session).Append(t.Context(), turn.NewMessage{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func texts(t *testing.T, db *turnlog.DB, session string) (list []string) {
	t.Helper()
	h, err := db.Session(session).Last(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range h.Messages {
		list = append(list, string(m.Data))
	}
	return list
}

// What was appended is there when the directory is opened again, and seqs go on.
func TestOpenAgain(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 3 {
		db := open(t, dir)
		want = append(want, strings.Repeat("x", i+1))
		if r := add(t, db, "alice", want[i]); r.First != uint64(i+1) {
			t.Errorf("appended message %d, want %d", r.First, i+1)
		}
		if got := texts(t, db, "alice"); !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
		for range 2 {
			if err := db.Close(); err != nil {
				t.Errorf("closed: %v", err)
			}
		}
		if _, err := db.Session("alice").Info(t.Context()); !turn.Is(err, turn.Unavailable) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A relative directory is that of the moment of Open: the node once stopped when its log needed the next file, if the
// program had changed its working directory.
func TestWorkingDirectoryChanges(t *testing.T) {
	t.Chdir(t.TempDir())
	db := open(t, "memory")
	memory, err := filepath.Abs("memory")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	text := strings.Repeat("x", 1<<20)
	for range 12 { // three files of the log
		add(t, db, "alice", text)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, open(t, memory), "alice"); len(got) != 12 {
		t.Errorf("%d messages", len(got))
	}
}

// A directory is open once; the error says so, and the first DB goes on.
func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	if second, err := turnlog.Open(dir); err == nil || !strings.Contains(err.Error(), dir+" is in use") {
		if err == nil {
			second.Close()
		}
		t.Errorf("the second Open: %v", err)
	}
	add(t, db, "alice", "hi")
}

// turns runs f until it reports true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
		runtime.Gosched()
		<-time.After(time.Millisecond)
	}
}

// Close leaves no goroutine, whatever was going on.
func TestCloseEndsEveryGoroutine(t *testing.T) {
	open(t, t.TempDir()).Close() // what a package starts once, as a resolver
	before := runtime.NumGoroutine()
	db := open(t, t.TempDir())
	add(t, db, "alice", "hi")
	tailed := make(chan error, 1)
	go func() {
		for _, err := range db.Session("alice").Tail(context.Background(), 0) {
			if err != nil {
				tailed <- err
				return
			}
		}
	}()
	stop := make(chan struct{})
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		for {
			select {
			case <-stop:
				return
			default:
				db.Session("bob").Append(context.Background(), turn.NewMessage{Data: []byte("x")})
			}
		}
	}()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := <-tailed; !turn.Is(err, turn.Unavailable) && !turn.Is(err, turn.Unknown) {
		t.Errorf("the tail ended with %v", err)
	}
	close(stop)
	<-appended
	until(t, "its goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// A node that cannot open says why, and leaves nothing open.
func TestOpenFails(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, c := range map[string]struct {
		cfg  turnlog.Config
		want string
	}{
		"no directory":    {turnlog.Config{}, `open "": Dir must not be empty`},
		"not a directory": {turnlog.Config{Dir: "/dev/null/x"}, "/dev/null"},
		"join without port": {turnlog.Config{Dir: t.TempDir(), Peers: turnlog.Peers{Join: true}},
			": Peers.Addr: a member"},
		"unprotected": {turnlog.Config{Dir: t.TempDir(), Servers: turnlog.Servers{RESPAddr: "0.0.0.0:0"}},
			"set Servers.UsersFile, Servers.TLSCert and Servers.TLSKey, listen on loopback, or give Servers.Insecure"},
		"another address": {turnlog.Config{Dir: t.TempDir(), Peers: turnlog.Peers{Addr: "127.0.0.1:0",
			InitialCluster: map[string]string{"n1": "127.0.0.1:1"}}},
			"Peers.InitialCluster says that n1 is at 127.0.0.1:1"},
		"a file called like a setting": {turnlog.Config{Dir: t.TempDir(), Servers: turnlog.Servers{
			RESPAddr: "127.0.0.1:0", TLSCert: "dir/tls-cert", TLSKey: "dir/tls-key"}},
			"/dir/tls-cert: no such file"},
		"a zone with a space": {turnlog.Config{Dir: t.TempDir(), Peers: turnlog.Peers{Zone: "zone 1"}},
			`: Peers.Zone "zone 1": must have up to 64 bytes, and no spaces`},
		"a negative preference": {turnlog.Config{Dir: t.TempDir(), Peers: turnlog.Peers{LeaderPreference: -1}},
			": Peers.LeaderPreference -1: must be 0 to 1000"},
		"no users": {turnlog.Config{Dir: t.TempDir(), Servers: turnlog.Servers{UsersFile: "nowhere.yaml"}},
			"nowhere.yaml"},
	} {
		if db, err := turnlog.OpenCluster(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			if err == nil {
				db.Close()
			}
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	until(t, "its goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// Namespaces are apart, and one client's end is not that of another.
func TestNamespace(t *testing.T) {
	db := open(t, t.TempDir())
	other, err := db.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	add(t, db, "alice", "hi")
	if _, err := other.Session("alice").Info(t.Context()); !turn.Is(err, turn.NotFound) {
		t.Errorf("the session is in the other namespace: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if got := texts(t, db, "alice"); !slices.Equal(got, []string{"hi"}) {
		t.Errorf("read %q", got)
	}
}

// The given logger gets what the node tells, the default one only what calls for attention.
func TestLogger(t *testing.T) {
	var given, standard bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&standard, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	for _, l := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&given, nil))} {
		db, err := turnlog.OpenCluster(turnlog.Config{Dir: t.TempDir(), Logger: l})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if standard.Len() > 0 || !strings.Contains(given.String(), "bootstrapping") {
		t.Errorf("slog.Default() got %q, the given one %q", standard.String(), given.String())
	}
}

// The metrics are the node's own.
func TestMetrics(t *testing.T) {
	db := open(t, t.TempDir())
	add(t, db, "alice", "hi")
	families, err := db.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	if !slices.Contains(names, "turnlog_writes_total") || slices.Contains(names, "go_goroutines") {
		t.Errorf("there are %q", names)
	}
}

// WaitReady ends with its context, and says what is missing.
func TestWaitReady(t *testing.T) {
	db, err := turnlog.OpenCluster(turnlog.Config{Dir: t.TempDir(),
		Peers: turnlog.Peers{Addr: "127.0.0.1:0", Join: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.WaitReady(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not ready (") {
		t.Errorf("%v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := db.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "the node is closed") {
		t.Errorf("after Close: %v", err)
	}
}

// A closed node says so, and one that waits to be added says by what.
func TestSaysWhatIsMissing(t *testing.T) {
	db := openCluster(t, turnlog.Config{Dir: t.TempDir(), NodeID: "n2",
		Peers: turnlog.Peers{Addr: addrs(t, 1)[0], Join: true}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := db.WaitReady(ctx); err == nil || !strings.Contains(err.Error(), "AddNode on a member") ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting to be added: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"AddNode":    db.AddNode(t.Context(), "n3", "127.0.0.1:1"),
		"RemoveNode": db.RemoveNode(t.Context(), "n3"),
		"AddLearner": db.AddLearner(t.Context(), "n3", "127.0.0.1:1"),
		"Promote":    db.Promote(t.Context(), "n3"),
		"Demote":     db.Demote(t.Context(), "n3"),
	} {
		if err == nil || !strings.Contains(err.Error(), "the node is closed") || !turn.Is(err, turn.Unavailable) {
			t.Errorf("%s on a closed node: %v", what, err)
		}
	}
}

// Calls on a node that has stopped fail at once, and say so: those of a client that the program has yet to close, too.
// They were tried again for 15 s.
func TestCallsAfterTheNodeHasStopped(t *testing.T) {
	db := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := client.New(client.Config{Addrs: []string{"embedded:0"}, Dial: db.Dial,
		OnRetry: func(err error, _ time.Duration) {
			t.Errorf("a call is tried again after: %v", err)
			cancel()
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.Session("alice")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"append": func() error { _, err := s.Append(ctx, turn.NewMessage{Data: []byte("hi")}); return err },
		"read":   func() error { _, err := s.Last(ctx, 1); return err },
		"erase":  func() error { _, err := c.Erase(ctx, "alice"); return err },
		"tail": func() error {
			for _, err := range s.Tail(ctx, 0) {
				return err
			}
			return nil
		},
	} {
		err := call()
		if !turn.Is(err, turn.Unavailable) || !errors.Is(err, client.ErrClosed) ||
			!strings.Contains(err.Error(), "the node is closed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
