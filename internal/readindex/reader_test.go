package readindex

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// follower is node n1 of a cluster that n2 leads, and n1's state machine.
type follower struct {
	*voters
	leader  string
	index   uint64        // the leader's read index
	slow    time.Duration // how long the leader takes to give it out
	applied uint64        // on n1
	arrives uint64        // what n1 applies once it waits
	halted  bool
	fails   error // of every query
}

func (f *follower) Leader() (string, <-chan struct{})  { return f.leader, nil }
func (f *follower) Serving() (uint64, <-chan struct{}) { return 0, nil }

func (f *follower) ReadIndex(_ context.Context, leader string) (uint64, error) {
	if leader == refuses {
		return 0, ErrNotLeader
	}
	time.Sleep(f.slow)
	return f.index, nil
}

func (f *follower) Query(context.Context, string, trace.Context, []byte) (turn.Result, bool, error) {
	return turn.Result{Index: 1000}, false, f.fails
}

func (f *follower) Applied() (index, term uint64) { return f.applied, 5 }

func (f *follower) WaitApplied(ctx context.Context, index uint64) error {
	if f.halted {
		return fsm.ErrHalted
	}
	f.applied = max(f.applied, f.arrives)
	if f.applied >= index {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// local is State for a follower, whose Query is that of Peers.
type local struct{ *follower }

func (l local) Query(turn.Query) (turn.Result, error) {
	if l.halted {
		return turn.Result{}, fsm.ErrHalted
	}
	return turn.Result{Index: l.applied}, l.fails
}

func (l local) Damage() (error, bool) { return nil, l.halted }

// start returns the Reader of n1, whose rounds are held until the test ends.
func (f *follower) start(t *testing.T) *Reader {
	r := New(Config{Self: "n1", Cluster: f, Peers: f, State: local{f},
		LeaderWait: time.Second, RoundLimit: time.Second})
	f.hold(t, r)
	return r
}

// hold holds rounds until the test ends.
func (f *follower) hold(t *testing.T, r *Reader) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Follow(ctx) })
	running.Go(func() { r.Lead(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

var anyQuery = &turn.Info{Key: turn.Key{Namespace: "0", Name: "s"}}

// A follower answers a linearizable query if it has applied the read index, or does so at once; all
// others go to the leader.
func TestFollowerAnswersWhatItHasApplied(t *testing.T) {
	for name, c := range map[string]struct {
		f    follower
		want uint64
	}{
		"it has applied as much": {follower{index: 42, applied: 42}, 42},
		"it has applied more":    {follower{index: 42, applied: 43}, 43},
		"an entry is missing":    {follower{index: 42, applied: 41}, 1000},
		"the entry comes":        {follower{index: 42, applied: 40, arrives: 42}, 42},
		"not all of them come":   {follower{index: 42, applied: 40, arrives: 41}, 1000},
		"its state is halted":    {follower{index: 42, applied: 42, halted: true}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.f.voters, c.f.leader = threeVoters(), "n2"
				r := c.f.start(t)
				res, err := r.Query(t.Context(), anyQuery, turn.Consistency{})
				if err != nil || res.Index != c.want {
					t.Errorf("answered as of %d, %v; want %d", res.Index, err, c.want)
				}
			})
		})
	}
}

// A stale read is answered from a member's state alone: one that is no member yet has no state that says anything of
// the cluster's sessions, and one that was removed learns of no more.
func TestStaleReadsAreMembers(t *testing.T) {
	for name, c := range map[string]struct {
		outside, newcomer bool
		leader            string
		want              uint64 // 0: an error
	}{
		"a member":                  {leader: "n2", want: 7},
		"a member without a leader": {want: 7},
		"a new member, whose state does not know it":   {newcomer: true, leader: "n2", want: 1000},
		"a new member without a leader":                {newcomer: true},
		"a node that was removed, or was never added":  {outside: true, leader: "n2"},
		"a node that was removed and knows no leader":  {outside: true},
		"a node that was removed, with a leader ahead": {outside: true, newcomer: true, leader: "n2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follower{voters: threeVoters(), leader: c.leader, index: 42, applied: 7}
				f.outside, f.newcomer = c.outside, c.newcomer
				r := f.start(t)
				began := time.Now()
				res, err := r.Query(t.Context(), anyQuery, turn.Consistency{Level: turn.Stale})
				if (c.want == 0) != (turn.KindOf(err) == turn.Unavailable) || res.Index != c.want {
					t.Errorf("answered as of %d, %v; want %d", res.Index, err, c.want)
				}
				if waited := time.Since(began); c.want == 0 && waited > 0 {
					t.Errorf("it waited %v for what does not help", waited)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // a state that was put aside records no node; a leader may be elected soon
		f := follower{voters: threeVoters(), halted: true}
		f.newcomer = true
		began := time.Now()
		_, err := f.start(t).Query(t.Context(), anyQuery, turn.Consistency{Level: turn.Stale})
		if turn.KindOf(err) != turn.Unavailable || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// Why a query fails is told, whichever node answers it at whatever level.
func TestErrorsOfQueriesAreTold(t *testing.T) {
	for _, c := range []struct {
		level  turn.Level
		leader string
		lacks  uint64
	}{{turn.Stale, "n2", 0}, {turn.Bounded, "n2", 0}, {turn.Bounded, "n2", 1}, {turn.Linearizable, "n2", 0},
		{turn.Linearizable, "n2", 1}, {turn.Linearizable, "n1", 0}} {
		synctest.Test(t, func(t *testing.T) {
			l := &leading{follower{voters: threeVoters(), leader: c.leader, index: 42, applied: 42 - c.lacks,
				fails: turn.Errorf(turn.WrongType, "the key holds a hash")}}
			r := New(Config{Self: "n1", Cluster: l, Peers: l, State: local{&l.follower}, LeaderWait: time.Second,
				RoundLimit: time.Second})
			l.hold(t, r)
			res, err := r.Query(t.Context(), anyQuery, turn.Consistency{Level: c.level, MaxAge: time.Second})
			if turn.KindOf(err) != turn.WrongType {
				t.Errorf("%+v: %+v, %v", c, res, err)
			}
		})
	}
}

// The leader answers once it has applied the read index.
func TestLeaderAnswersWhatItHasApplied(t *testing.T) {
	for _, c := range []struct {
		applied, arrives uint64
		want             turn.Kind
	}{{40, 42, turn.None}, {41, 42, turn.None}, {42, 42, turn.None}, {40, 41, turn.Unavailable}} {
		synctest.Test(t, func(t *testing.T) {
			l := &leading{follower{voters: threeVoters(), leader: "n1", applied: c.applied, arrives: c.arrives}}
			r := New(Config{Self: "n1", Cluster: l, Peers: l, State: local{&l.follower}, LeaderWait: time.Second,
				RoundLimit: time.Second})
			l.hold(t, r)
			res, err := r.Query(t.Context(), anyQuery, turn.Consistency{})
			if turn.KindOf(err) != c.want || err == nil && res.Index != 42 {
				t.Errorf("%+v: answered as of %d, %v", c, res.Index, err)
			}
		})
	}
}

// What a leader cannot answer, others are asked for only if its state is known to be worse than theirs, and if there
// are others. A halt that keeps it from applying the read index is such a reason.
func TestLeaderAsksOthersOnlyForItsOwnDamage(t *testing.T) {
	for what, c := range map[string]struct {
		l    leading
		want error // nil: the answer of another member
	}{
		"the state counts more than there is": {leading{follower{applied: 42, fails: counted}}, counted},
		"the state is halted":                 {leading{follower{applied: 42, halted: true}}, nil},
		"the state is halted before":          {leading{follower{applied: 41, halted: true}}, nil},
		"the only member is halted":           {leading{follower{applied: 42, halted: true}}, fsm.ErrHalted},
		"the only member is halted before":    {leading{follower{applied: 41, halted: true}}, fsm.ErrHalted},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.l.voters, c.l.leader = threeVoters(), "n1"
			c.l.alone = errors.Is(c.want, fsm.ErrHalted)
			if c.l.alone {
				c.l.ids = nil
			}
			r := New(Config{Self: "n1", Cluster: &c.l, Peers: helpful{&c.l}, State: local{&c.l.follower},
				LeaderWait: time.Second, RoundLimit: time.Second})
			c.l.hold(t, r)
			began := time.Now()
			res, err := r.Query(t.Context(), anyQuery, turn.Consistency{})
			told := err == nil && res.Index == 7
			if c.want != nil {
				told = err != nil && err.Error() == turn.AsError(c.want).Error()
			}
			if !told || time.Since(began) > 0 {
				t.Errorf("%s: %+v, %v, after %v", what, res, err, time.Since(began))
			}
		})
	}
}

var counted = turn.Errorf(turn.Corrupt, "the head counts more than there is")

// helpful is a leader whose other members answer.
type helpful struct{ *leading }

func (helpful) QueryMember(context.Context, string, []byte) (turn.Result, bool, error) {
	return turn.Result{Index: 7}, true, nil
}

// Of two proofs of freshness the later one counts, in whichever order they come.
func TestFreshnessDoesNotSink(t *testing.T) {
	var f freshness
	now := time.Now()
	f.prove(now)
	f.prove(now.Add(-time.Second))
	if !f.within(0, now) {
		t.Error("a later proof is forgotten for an earlier one")
	}
}

// A bounded read is answered here for so long after this node had all that was committed; that is
// when it asked for the read index, not when it got it.
func TestBoundedReadsAreYoungEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &follower{voters: threeVoters(), leader: "n2", index: 42, applied: 42, slow: 300 * time.Millisecond}
		r := f.start(t)
		read := func(age time.Duration, want uint64) {
			t.Helper()
			res, err := r.Query(t.Context(), anyQuery, turn.Consistency{Level: turn.Bounded, MaxAge: age})
			if err != nil || res.Index != want {
				t.Errorf("no older than %v: answered as of %d, %v; want %d", age, res.Index, err, want)
			}
		}
		const age = time.Second
		if r.Within(time.Hour) {
			t.Error("a state of which nothing is known is young")
		}
		began := time.Now()
		read(age, 42)
		if took := time.Since(began); took != f.slow || !r.Within(f.slow) || r.Within(f.slow-1) {
			t.Errorf("fresh as of the answer, not of the question, after %v", took)
		}
		f.leader = ""
		read(age, 42)
		time.Sleep(age - f.slow)
		read(age, 42)
		time.Sleep(time.Nanosecond)
		bounded := turn.Consistency{Level: turn.Bounded, MaxAge: age}
		if _, err := r.Query(t.Context(), anyQuery, bounded); turn.KindOf(err) !=
			turn.Unavailable {
			t.Errorf("a state that is too old is read without a leader: %v", err)
		}
		f.leader, f.index = "n2", 43
		read(age, 1000)
		if r.Within(age) {
			t.Error("a state that lacks an entry is fresh")
		}
	})
}

// A node answers the query of another one as the leader only once it has applied the read index, and
// only if it leads.
func TestOthersAreAnsweredByTheLeader(t *testing.T) {
	for name, answer := range map[string]func(*Reader, context.Context) (turn.Result, error){
		"Answer": func(r *Reader, ctx context.Context) (turn.Result, error) { return r.Answer(ctx, anyQuery) },
		"AnswerMember": func(r *Reader, ctx context.Context) (turn.Result, error) {
			return r.AnswerMember(ctx, anyQuery)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &leading{follower{voters: threeVoters(), leader: "n1", applied: 40, arrives: 42}}
				r := New(Config{Self: "n1", Cluster: l, Peers: l, State: local{&l.follower}, LeaderWait: time.Second,
					RoundLimit: time.Second})
				l.hold(t, r)
				if res, err := answer(r, t.Context()); err != nil || res.Index != 42 {
					t.Errorf("answered as of %d, %v; want 42", res.Index, err)
				}
				l.applied, l.arrives = 40, 41
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if res, err := answer(r, ctx); err == nil || turn.AsError(err).Kind != turn.Internal {
					t.Errorf("without entry 42: answered as of %d, %v", res.Index, err)
				}
				l.applied, l.moved = 42, true
				if res, err := answer(r, t.Context()); !errors.Is(err, ErrNotLeader) {
					t.Errorf("not as the leader: answered as of %d, %v", res.Index, err)
				}
			})
		})
	}
}

// leading is a follower that leads.
type leading struct{ follower }

func (l *leading) Serving() (uint64, <-chan struct{}) { return 5, nil }

// A node asks no leader for a read index where none is known, nor itself, and has none if the leader gives none.
func TestNoReadIndexWithoutAnotherLeader(t *testing.T) {
	for leader, want := range map[string]bool{"": false, "n1": false, "n2": true, refuses: false} {
		f := &follower{leader: leader, index: 7}
		r := f.start(t)
		if index, ok := r.follower.Index(t.Context()); ok != want || ok && index != 7 {
			t.Errorf("the leader is %q: read index %d, %v", leader, index, ok)
		}
	}
}

// refuses is the id of a leader that gives out no read index.
const refuses = "n3"
