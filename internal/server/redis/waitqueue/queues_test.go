package waitqueue

import (
	"errors"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// request is one that clears a list.
type request struct {
	refused error
	ended   bool // its wait
	held    *int
}

func (r request) Op(keys []turn.Key) turn.Op { return &turn.Clear{Key: keys[0]} }
func (r request) Refused() error             { return r.refused }
func (r request) Release()                   { *r.held-- }

func (r request) Hold() bool {
	if !r.ended {
		*r.held++
	}
	return !r.ended
}

// The first takes for those behind it in one log entry: each has its own outcome, and one that got
// nothing stays where it was.
func TestFirstTakesForThoseBehindIt(t *testing.T) {
	var q Queues
	a, b := turn.Key{Name: "a"}, turn.Key{Name: "b"}
	held, refusal := 0, errors.New("not any more")
	join := func(r request, keys ...turn.Key) *Waiter {
		r.held = &held
		w := &Waiter{Request: r, Keys: keys, Look: make(chan struct{}, 1)}
		q.Join(w)
		return w
	}
	first, refused, ended := join(request{}, b, a), join(request{refused: refusal}, a), join(request{ended: true}, a)
	second, nothing, beyond := join(request{}, a, b), join(request{}, a), join(request{}, a)
	if got := q.First(second, second.Keys); len(got) > 0 {
		t.Errorf("one that came later is the first of %v", got)
	}
	if q.Claim(second, []turn.Key{a}, 9) != nil {
		t.Error("one that came later takes for others")
	}
	served := q.Claim(first, []turn.Key{a}, 4)
	if !slices.Equal(served, []*Waiter{first, refused, second, nothing}) {
		t.Fatalf("%d are served", len(served))
	}
	if q.Claim(first, []turn.Key{b}, 9) != nil {
		t.Error("one takes twice at a time")
	}
	index := q.TakeFor(served, []turn.Key{a, b}, func(op turn.Op) (turn.Result, error) {
		if n := len(op.(*turn.Tx).Steps); n != 3 {
			t.Errorf("%d operations", n)
		}
		got := turn.Outcome{Result: turn.Result{Found: true}}
		return turn.Result{Index: 7, Steps: []turn.Outcome{got, got, {}}}, nil
	})
	if index != 7 {
		t.Errorf("entry %d", index)
	}
	for _, w := range []*Waiter{first, second} {
		if out := q.Outcome(w, false); out == nil || !out.Result.Found || out.Err != nil {
			t.Errorf("one that got something has %+v", out)
		}
	}
	if out := q.Outcome(refused, false); out == nil || out.Err != refusal {
		t.Errorf("one that was refused has %+v", out)
	}
	for _, w := range []*Waiter{nothing, beyond, ended} {
		if out := q.Outcome(w, true); out != nil {
			t.Errorf("one that got nothing has %+v", out)
		}
	}
	if held != 2 { // those that answer next: the refused one, and the second
		t.Errorf("%d are held", held)
	}
	if len(q.byKey) > 0 {
		t.Errorf("queues are left: %v", q.byKey)
	}
}

// When the first leaves, the next looks.
func TestNextLooksWhenTheFirstLeaves(t *testing.T) {
	var q Queues
	k := turn.Key{Name: "k"}
	first := &Waiter{Keys: []turn.Key{k}, Look: make(chan struct{}, 1)}
	next := &Waiter{Keys: []turn.Key{k}, Look: make(chan struct{}, 1)}
	q.Join(first)
	q.Join(next)
	q.Leave(first)
	if len(next.Look) != 1 || !slices.Equal(q.First(next, next.Keys), next.Keys) {
		t.Error("the next is not told that it is the first")
	}
}
