package readindex

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// voters are the other voters of a cluster that node n1 leads in term 5.
type voters struct {
	mu       sync.Mutex
	ids      []string
	promised map[string]uint64 // by id
	silent   map[string]bool   // do not answer
	gone     map[string]bool   // cannot be reached
	asked    []string
	moved    bool            // another node leads
	term     uint64          // of Raft; 0: 5
	commit   uint64          // 0: 42
	alone    bool            // there are no other members
	outside  bool            // n1 is in no configuration
	newcomer bool            // n1's state does not record it
	onAsked  func(v *voters) // called with mu held when a voter is asked
}

func threeVoters() *voters {
	return &voters{
		ids: []string{"n2", "n3"}, promised: map[string]uint64{"n2": 5, "n3": 5},
		silent: make(map[string]bool), gone: make(map[string]bool),
	}
}

func (v *voters) Leader() (string, <-chan struct{})   { return "n1", nil }
func (v *voters) Serving() (uint64, <-chan struct{})  { return 5, nil }
func (v *voters) Voters() ([]string, bool)            { return v.ids, true }
func (v *voters) Alone() bool                         { return v.alone }
func (v *voters) Member() (configured, recorded bool) { return !v.outside, !v.newcomer && !v.outside }

func (v *voters) Raft() (leads bool, term, commit uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.moved, cmp.Or(v.term, 5), cmp.Or(v.commit, 42)
}

func (v *voters) Confirm(id string, question []byte, answered func([]byte, error)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, id)
	if v.onAsked != nil {
		v.onAsked(v)
	}
	switch {
	case v.silent[id]:
	case v.gone[id]:
		answered(nil, errors.New("not connected"))
	default:
		answered(Confirm(question, func() uint64 { return v.promised[id] }))
	}
}

func (v *voters) ReadIndex(context.Context, string) (uint64, error) {
	return 0, errors.New("no other node leads")
}

func (v *voters) Query(context.Context, string, trace.Context, []byte) (turn.Result, bool, error) {
	return turn.Result{}, false, errors.New("no other node leads")
}

func (v *voters) Others() []string { return v.ids }

func (v *voters) QueryMember(context.Context, string, []byte) (turn.Result, bool, error) {
	return turn.Result{}, false, errors.New("no member answers")
}

// set changes what a voter does.
func (v *voters) set(what map[string]bool, id string, on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	what[id] = on
}

// A read index holds only if a majority confirms that there is no later leader.
func TestReadIndex(t *testing.T) {
	for _, test := range []struct {
		name string
		as   func(*voters)
		want bool
	}{
		{"all voters confirm", func(*voters) {}, true},
		{"one voter cannot be reached", func(v *voters) { v.gone["n2"] = true }, true},
		{"one voter was in a later term", func(v *voters) { v.promised["n2"] = 6 }, true},
		{"no voter can be reached", func(v *voters) { v.gone["n2"], v.gone["n3"] = true, true }, false},
		{"a majority was in a later term", func(v *voters) { v.promised["n2"], v.promised["n3"] = 6, 6 }, false},
		{"one denies, one is silent", func(v *voters) { v.promised["n2"], v.silent["n3"] = 6, true }, false},
		{"it leads no more", func(v *voters) { v.moved = true }, false},
		{"it leads no more when they have answered", func(v *voters) {
			v.onAsked = func(v *voters) { v.moved = true }
		}, false},
		{"it leads in a later term when they have answered", func(v *voters) {
			v.onAsked = func(v *voters) { v.term = 6 }
		}, false},
		{"it leads in a later term, and has applied nothing of it", func(v *voters) { v.term = 6 }, false},
		{"it is the only voter", func(v *voters) { v.ids = nil }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := threeVoters()
			test.as(v)
			l := newLeaderIndexes(v, v, 20*time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { l.Run(ctx) })
			defer running.Wait()
			defer cancel()
			index, ok := l.Index(t.Context())
			if ok != test.want || ok && index != 42 {
				t.Errorf("read index %d, %v", index, ok)
			}
		})
	}
}

// A round serves the reads that asked before it began, those that wait when it ends get none.
func TestRoundsServeWhatWaits(t *testing.T) {
	v := threeVoters()
	l := newLeaderIndexes(v, v, time.Second)
	var reads sync.WaitGroup
	for range 5 {
		reads.Go(func() {
			if index, ok := l.Index(t.Context()); !ok || index != 42 {
				t.Errorf("read index %d, %v", index, ok)
			}
		})
	}
	for l.Stats().Waiting < 5 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	reads.Wait()
	if s := l.Stats(); s.Rounds != 1 || s.Reads != 5 {
		t.Errorf("%d reads in %d rounds", s.Reads, s.Rounds)
	}
	cancel()
	running.Wait()
	if _, ok := l.Index(t.Context()); ok {
		t.Error("a read index although no rounds are held any more")
	}
}

// lateVoters answer when they are let.
type lateVoters struct {
	*voters
	let chan struct{} // closed then
}

func (l lateVoters) Confirm(id string, question []byte, answered func([]byte, error)) {
	go func() {
		<-l.let
		l.voters.Confirm(id, question, answered)
	}()
}

// A read that comes while a round is in flight gets the index of the next one: that of the present one may be older
// than what was acknowledged before the read.
func TestReadDuringARoundWaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := threeVoters()
		late := lateVoters{v, make(chan struct{})}
		l := newLeaderIndexes(v, late, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		go l.Run(ctx)
		read := func(want uint64) {
			if index, ok := l.Index(t.Context()); !ok || index != want {
				t.Errorf("read index %d, %v, want %d", index, ok, want)
			}
		}
		go read(42)
		synctest.Wait()
		v.mu.Lock()
		v.commit = 43
		v.mu.Unlock()
		go read(43)
		synctest.Wait()
		close(late.let)
		synctest.Wait()
		cancel()
		synctest.Wait()
	})
}

// A round ends when the node may lead no more, though voters have not answered.
func TestRoundEndsWithTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := threeVoters()
		v.silent["n2"], v.silent["n3"] = true, true
		changed := make(chan struct{})
		close(changed)
		began := time.Now()
		if newLeaderIndexes(v, v, time.Minute).confirm(t.Context(), 5, changed, false) || time.Since(began) > 0 {
			t.Errorf("the round ends after %v", time.Since(began))
		}
	})
}

// A voter that was spared is asked when the one that was asked does not answer,
// whether its connection is gone or it is silent.
func TestSparedVotersAreAskedInTheEnd(t *testing.T) {
	v := threeVoters()
	l := newLeaderIndexes(v, v, time.Minute)
	confirm := func() (fastest string, ok bool) {
		v.mu.Lock()
		v.asked = nil
		v.mu.Unlock()
		if !l.confirm(t.Context(), 5, nil, true) {
			return "", false
		}
		if len(l.fastest) != 1 {
			t.Fatalf("%v confirmed, though one is enough", l.fastest)
		}
		return l.fastest[0], true
	}
	first, ok := confirm()
	if !ok {
		t.Fatal("no majority")
	}
	for range 20 {
		if now, ok := confirm(); !ok || now != first {
			t.Fatalf("%q was asked, and not %s, which was fastest before", now, first)
		}
	}
	v.set(v.silent, first, true)
	second, ok := confirm()
	if !ok || second == first {
		t.Fatalf("%q confirms where %s is silent", second, first)
	}
	v.set(v.silent, first, false)
	v.set(v.gone, second, true)
	if now, ok := confirm(); !ok || now != first {
		t.Fatalf("%q confirms where %s is gone", now, second)
	}
	v.set(v.gone, first, true)
	if now, ok := confirm(); ok {
		t.Fatalf("%q confirms, and is gone", now)
	}
}

// A node that was in a higher term denies.
func TestConfirmation(t *testing.T) {
	question := []byte("nonce678\x05\x00\x00\x00\x00\x00\x00\x00")
	for promised, want := range map[uint64]bool{4: true, 5: true, 6: false} {
		answer, err := Confirm(question, func() uint64 { return promised })
		if err != nil || confirmed(question, answer) != want {
			t.Errorf("promised %d: %v, %v", promised, confirmed(question, answer), err)
		}
	}
	other := []byte("another8\x05\x00\x00\x00\x00\x00\x00\x00")
	answer, _ := Confirm(other, func() uint64 { return 5 })
	if confirmed(question, answer) {
		t.Error("the answer to another question counts")
	}
	for _, malformed := range [][]byte{nil, {}, question[:8], question[:15], append(question[:16:16], 0)} {
		if confirmed(question, malformed) {
			t.Errorf("an answer of %d bytes counts", len(malformed))
		}
		if _, err := Confirm(malformed, nil); err == nil {
			t.Errorf("a question of %d bytes is answered", len(malformed))
		}
	}
}

func TestMajority(t *testing.T) {
	for others := range 8 {
		if got, want := 1+Majority(others, true), (others+1)/2+1; got != want {
			t.Errorf("this voter and %d others: %d, not %d", others, got, want)
		}
		if got, want := Majority(others, false), others/2+1; got != want {
			t.Errorf("%d voters: %d, not %d", others, got, want)
		}
	}
}
