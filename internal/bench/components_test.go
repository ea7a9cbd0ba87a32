package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// Stacks are written from the innermost function outwards; "a+b" is one location
// where a was inlined into b.
func TestRooms(t *testing.T) {
	const ours = "github.com/turnlog/turnlog/"
	location := func(inlined ...string) *profile.Location {
		l := new(profile.Location)
		for _, name := range inlined {
			l.Line = append(l.Line, profile.Line{Function: &profile.Function{Name: name}})
		}
		return l
	}
	for _, tt := range []struct {
		stack     [][]string
		component Component
		system    bool
	}{
		{[][]string{{"internal/runtime/syscall/linux.Syscall6"}, {"syscall.write"}, {"net.(*conn).Write"},
			{ours + "internal/server/redis.(*conn).flush"}}, "server/redis", true},
		{[][]string{{"syscall.Syscall"}, {"golang.org/x/sys/unix.Fdatasync"}, {ours + "wal.(*Log).Append"},
			{ours + "raftstore.(*walLog).StoreLogs"}, {"github.com/hashicorp/raft.(*Raft).dispatchLogs"}}, "wal", true},
		{[][]string{{"runtime.memmove"}, {"go.etcd.io/bbolt.(*node).write"}, {ours + "fsm.(*Machine).flush"}},
			"bbolt", false},
		{[][]string{{"runtime.mallocgc"},
			{"github.com/vmihailenco/msgpack/v5.(*Decoder).DecodeString", ours + "internal/codec.DecodeOp"},
			{ours + "fsm.(*Machine).Apply"}}, "codec, msgpack", false},
		{[][]string{{"runtime.scanobject"}, {"runtime.gcDrain"}, {"runtime.gcBgMarkWorker"}}, componentGC, false},
		{[][]string{{"runtime.scanobject"}, {"runtime.gcAssistAlloc"}, {"runtime.mallocgc"},
			{ours + "fsm.(*Machine).Apply"}}, componentGC, false},
		{[][]string{{"runtime.futex"}, {"runtime.futexwakeup"}, {"runtime.startm"}, {"runtime.wakep"},
			{"runtime.ready"}, {"runtime.chansend"}, {ours + "raftstore.(*proposer).run"}}, componentScheduler, true},
		{[][]string{{"internal/runtime/syscall/linux.EpollWait"}, {"runtime.netpoll"}, {"runtime.findRunnable"},
			{"runtime.schedule"}, {"runtime.park_m"}}, componentScheduler, true},
		{[][]string{{"net/http.(*conn).serve"}}, componentOther, false},
		{[][]string{{ours + "walrus.Swim"}}, componentOther, false},
		{nil, componentOther, false},
	} {
		s := new(profile.Sample)
		for _, frame := range tt.stack {
			s.Location = append(s.Location, location(frame...))
		}
		if component, system := componentOf(s); component != tt.component || system != tt.system {
			t.Errorf("%q: %s, %v; want %s, %v", tt.stack, component, system, tt.component, tt.system)
		}
	}
	for _, p := range packages {
		if !slices.Contains(components(), p.component) {
			t.Errorf("component %q of %s is not listed", p.component, p.prefix)
		}
	}
}

func TestProfileTables(t *testing.T) {
	node := func(wal, fsm time.Duration) NodeProfile {
		return NodeProfile{Elapsed: time.Second,
			Components: map[Component]ComponentShare{"wal": {wal, wal / 2}, "fsm": {fsm, 0}}}
	}
	nodes := []NodeProfile{node(300*time.Millisecond, 100*time.Millisecond), node(0, 100*time.Millisecond),
		node(100*time.Millisecond, 0)}
	tables := profileTables([]*Profile{{"append", 1, nodes}, {"append", 64, nodes}, {"read", 1, nodes}})
	if len(tables) != 2 || len(tables[0].Header) != 5 || len(tables[1].Header) != 3 {
		t.Fatalf("%+v", tables)
	}
	for _, row := range tables[0].Rows {
		if want := map[string][]string{
			"wal":                   {"wal", "75.0 (37.5)", "50.0 (25.0)", "75.0 (37.5)", "50.0 (25.0)"},
			"fsm":                   {"fsm", "25.0 (0.0)", "50.0 (0.0)", "25.0 (0.0)", "50.0 (0.0)"},
			"all, of one processor": {"all, of one processor", "40 %", "10 %", "40 %", "10 %"},
		}[row[0]]; want != nil && !slices.Equal(row, want) {
			t.Errorf("%q, want %q", row, want)
		}
	}
}
