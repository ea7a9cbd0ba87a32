package diskspace

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// disk is what a Watcher sees of a node.
type disk struct {
	free, unflushed, files uint64
	bounded                bool // the number of files
	broken                 error
	logFull                bool
	short                  bool // as the state machine was told
	left                   uint64
	unapplied, wanted      uint64
	room                   uint64 // in the log
	saves                  bool   // as the log was told
}

func (d *disk) Unapplied() uint64   { return d.unapplied }
func (d *disk) Wanted() uint64      { return d.wanted }
func (d *disk) Room() uint64        { return d.room }
func (d *disk) SaveSpace(save bool) { d.saves = save }

func (d *disk) Unflushed() uint64 { return d.unflushed }

func (d *disk) ShortOfSpace(short bool, left uint64) { d.short, d.left = short, left }

func (d *disk) watcher(c Cluster) *Watcher {
	return NewWatcher(Config{Node: "n1", Reserve: 1000, Every: time.Second, Forget: 10 * time.Second, Wait: time.Second,
		FreeBytes: func(string) (uint64, error) { return d.free, d.broken },
		FreeFiles: func(string) (uint64, bool, error) { return d.files, d.bounded, d.broken },
		State:     d, Log: d, Cluster: c, LogFull: func(uint64) bool { return d.logFull }, Changed: func() {},
		Logger: slog.New(slog.DiscardHandler)})
}

// A disk is short of space below the reserve, in bytes or in files, and until there is half as much
// more. What is to be flushed counts as taken. A disk that cannot be asked is as it was.
func TestReserve(t *testing.T) {
	d := &disk{files: 1 << 20, bounded: true}
	w := d.watcher(nil)
	for i, step := range []struct {
		disk
		short bool
		left  uint64
	}{
		{disk{free: 1000, files: 256, bounded: true}, false, 1000},
		{disk{free: 999, files: 256, bounded: true}, true, 999},
		{disk{free: 1499, files: 9999, bounded: true}, true, 1499},
		{disk{free: 1 << 40, broken: errors.New("i/o error")}, true, 1499},
		{disk{free: 1500, files: 384, bounded: true}, false, 1500},
		{disk{free: 1500, unflushed: 501, files: 384, bounded: true}, true, 999},
		{disk{free: 300, unflushed: 501, files: 384, bounded: true}, true, 0},
		{disk{free: 9999, files: 384, bounded: true}, false, 9999},
		{disk{free: 9999, files: 255, bounded: true}, true, 9999},
		{disk{free: 9999, files: 383, bounded: true}, true, 9999},
		{disk{free: 9999, files: 0}, false, 9999},
		{disk{free: 1600, unapplied: 300, unflushed: 301}, true, 999},
		{disk{free: 2500, wanted: 1001}, true, 2500},
		{disk{free: 2500, wanted: 1000}, false, 2500},
		{disk{free: 1999, wanted: 1000}, true, 1999},
	} {
		short, left := d.short, d.left
		*d = step.disk
		d.short, d.left = short, left
		if w.Check(); d.short != step.short || (w.Short() != nil) != step.short || w.Report().Short != step.short ||
			d.left != step.left {
			t.Errorf("step %d: short %v with %d bytes left (%v), want %v with %d", i, d.short, d.left, w.Short(),
				step.short, step.left)
		}
	}
	d.logFull = true
	if w.Check(); !w.LogFull() || !w.Report().LogFull {
		t.Error("a full log is not reported")
	}
}

// A disk is looked at more often when less than three reserves are left, so that less comes in between, until writes
// are rejected; from then on the log saves space.
func TestNearTheReserve(t *testing.T) {
	d := &disk{}
	w := d.watcher(nil)
	for _, step := range []struct {
		disk
		saves bool
		pause time.Duration
	}{
		{disk{free: 3000}, false, time.Second},
		{disk{free: 2999}, true, time.Second / 10},
		{disk{free: 9999, unapplied: 4000, wanted: 3000}, true, time.Second / 10},
		{disk{free: 999}, true, time.Second},
		{disk{free: 9999}, false, time.Second},
	} {
		*d = step.disk
		if w.Check(); d.saves != step.saves || w.Saving() != step.saves || w.pause() != step.pause {
			t.Errorf("%d bytes free, %d on their way: saves space: %v, looks again after %v", step.free,
				step.unapplied+step.unflushed+step.wanted, d.saves, w.pause())
		}
	}
}

// The log takes no segment out of the reserve, nor out of the space for what is on its way to the state.
func TestLogLeavesTheReserve(t *testing.T) {
	for _, c := range []struct {
		disk
		granted bool
	}{
		{disk{free: 1500}, true},
		{disk{free: 1499}, false},
		{disk{free: 1800, unapplied: 100, unflushed: 200}, true},
		{disk{free: 1800, unapplied: 100, unflushed: 201}, false},
		{disk{free: 1800, unapplied: 301}, false},
		{disk{free: 100, unapplied: 900, unflushed: 900}, false},
		{disk{broken: errors.New("i/o error")}, true},
	} {
		if w := c.watcher(nil); w.Grants(500) != c.granted {
			t.Errorf("%d bytes free, %d on their way: granted %v", c.free, c.unapplied+c.unflushed, !c.granted)
		}
	}
}

// A leader rejects what its log has no room for, and may not take it from the reserve; and everything while writes
// are rejected.
func TestLeaderRejectsWhatTheLogCannotTake(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		disk
		rejected bool
	}{
		{disk{room: size + entryBytes}, false},
		{disk{room: size, free: 999 + size + entryBytes}, true},
		{disk{room: size, free: 1000 + size + entryBytes}, false},
		{disk{room: size, free: 1000 + size + entryBytes, wanted: size + entryBytes + 1}, true},
		{disk{room: size + entryBytes, wanted: 1 << 40}, false},
		{disk{broken: errors.New("i/o error")}, false},
	} {
		w := c.watcher(nil)
		if why := w.RefusalOf(size); (why != nil) != c.rejected || why != nil && why.Kind != turn.ReadOnly {
			t.Errorf("%d bytes free, %d in the log, which wants %d: %v", c.free, c.room, c.wanted, why)
		}
		full := turn.Errorf(turn.ReadOnly, "full")
		if w.full.Store(full); w.RefusalOf(0) != full {
			t.Error("a leader that rejects writes proposes some")
		}
	}
}

// While writes are rejected, what frees space is admitted, unless there is no room in the log even
// for that. What cannot be read frees nothing.
func TestWhatFreesSpaceIsAdmitted(t *testing.T) {
	key := turn.Key{Namespace: "0", Name: "s"}
	frees := []turn.Op{&turn.Delete{Keys: []turn.Key{key}}, &turn.Trim{Key: key}, &codec.Checksum{}}
	takes := []turn.Op{&turn.Append{Key: key, Messages: []turn.NewMessage{{Data: []byte("x")}}}}
	encoded := func(op turn.Op) codec.Command {
		b, err := codec.EncodeOp(op)
		if err != nil {
			t.Fatal(err)
		}
		return codec.Command{Op: b}
	}
	s := newSpace()
	check := func(when string, freed, taken bool) {
		t.Helper()
		for _, op := range frees {
			if s.Rejects(op) == nil != freed {
				t.Errorf("%s, %T: %v", when, op, s.Rejects(op))
			}
			if s.Refusal() != nil && s.Admits(encoded(op)) != freed {
				t.Errorf("%s, %T from another node: admitted %v", when, op, !freed)
			}
		}
		for _, op := range takes {
			if s.Rejects(op) == nil != taken {
				t.Errorf("%s, %T: %v", when, op, s.Rejects(op))
			}
			if s.Refusal() != nil && s.Admits(encoded(op)) {
				t.Errorf("%s, %T from another node is admitted", when, op)
			}
		}
	}
	check("with space", true, true)
	s.Hear(turn.Errorf(turn.ReadOnly, "the disk is full"))
	check("without space", true, false)
	if s.Admits(codec.Command{Op: []byte("unknown")}) {
		t.Error("what cannot be read is admitted")
	}
	s.exhausted.Store(true)
	check("without space in the log", false, false)
}

// What a leader decided holds as long as it says so again. A node that led decides no more once it
// does not lead.
func TestDecisionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpace()
		s.Hear(turn.Errorf(turn.ReadOnly, "full"))
		time.Sleep(10 * time.Second)
		if s.forget(10 * time.Second); s.Refusal() == nil {
			t.Error("a decision is forgotten too soon")
		}
		s.Hear(s.Refusal())
		time.Sleep(9 * time.Second)
		if s.forget(10 * time.Second); s.Refusal() == nil {
			t.Error("a decision is forgotten that was repeated")
		}
		time.Sleep(2 * time.Second)
		if s.forget(10 * time.Second); s.Refusal() != nil {
			t.Error("a decision holds although no leader repeats it")
		}
		_, v := newCluster(map[string]Report{"n2": short, "n3": short}, "n2", "n3")
		v.Hear(turn.Errorf(turn.ReadOnly, "full"))
		v.decide(t.Context())
		if v.forget(time.Hour); v.Refusal() != nil {
			t.Error("a node that leads no more holds to its own decision")
		}
	})
}

// While a leader rejects writes, cluster time goes on, so that what expires frees space; seldom,
// since each time takes an entry.
func TestTimeGoesOnWithoutSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, v := newCluster(map[string]Report{"n2": roomy, "n3": roomy}, "n2", "n3")
		decide := func(times int, want int) {
			t.Helper()
			for range times {
				v.decide(t.Context())
				time.Sleep(time.Second)
			}
			if c.moved != want {
				t.Errorf("time went on %d times, want %d", c.moved, want)
			}
		}
		decide(40, 0)
		c.reports = map[string]Report{"n2": short, "n3": short}
		decide(30, 1)
		decide(30, 2)
		c.reports = map[string]Report{"n2": {Short: true, LogFull: true}, "n3": {Short: true, LogFull: true}}
		decide(60, 2) // no entry more finds room
		c.reports = map[string]Report{"n2": short, "n3": short}
		decide(1, 3)
	})
}

// Callers are told of one node, the same by all, and how much is left there.
func TestRefusalNamesANode(t *testing.T) {
	for range 20 { // reports are in no order
		_, v := newCluster(map[string]Report{"n2": {Short: true, Why: "n2: 1 MiB"},
			"n3": {Short: true, Why: "n3: 2 MiB"},
			"n4": {Short: true, Why: "n4: 3 MiB"}, "n5": roomy}, "n2", "n3", "n4", "n5")
		if v.decide(t.Context()); v.Refusal() == nil || !strings.Contains(v.Refusal().Message, "n2: 1 MiB") {
			t.Fatalf("writes are refused with: %v", v.Refusal())
		}
	}
}

// A voter that is connected but has never answered is not counted among those with space.
func TestUnknownVotersHaveNoSpace(t *testing.T) {
	c, v := newCluster(map[string]Report{"n2": short}, "n2", "n3")
	c.busy = true
	if v.decide(t.Context()); v.Refusal() == nil {
		t.Error("writes are admitted, although no quorum is known to have space")
	}
}

// A leader that is no voter any more decides by the voters.
func TestLeaderThatIsNoVoter(t *testing.T) {
	for n, rejects := range map[int]bool{0: false, 1: false, 2: true, 4: true} {
		reports := map[string]Report{"n2": roomy, "n3": roomy, "n4": roomy, "n5": roomy}
		for i := range n {
			reports[[]string{"n2", "n3", "n4", "n5"}[i]] = short
		}
		c, v := newCluster(reports, "n2", "n3", "n4", "n5")
		c.outside = true
		if v.decide(t.Context()); v.Refusal() != nil != rejects {
			t.Errorf("%d of 4 voters are short of space: %v", n, v.Refusal())
		}
	}
}

// A node that is alone, or has just failed to hand over, has nothing better than to reject writes.
func TestLeaderWithoutSpaceRejects(t *testing.T) {
	c, v := newCluster(nil)
	v.short.Store(turn.Errorf(turn.ReadOnly, "1 MiB is left"))
	if v.decide(t.Context()); v.Refusal() == nil || c.handed {
		t.Errorf("alone: %v, handed over: %v", v.Refusal(), c.handed)
	}
	c, v = newCluster(map[string]Report{"n2": roomy, "n3": roomy}, "n2", "n3")
	c.refuses = errors.New("no other voter can be reached")
	v.decide(t.Context()) // with space
	v.short.Store(turn.Errorf(turn.ReadOnly, "1 MiB is left"))
	for range 2 {
		if v.decide(t.Context()); v.Refusal() == nil {
			t.Error("writes are admitted when leadership could not be transferred")
		}
	}
}
