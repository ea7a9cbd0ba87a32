package lincheck

import (
	"container/heap"
	"fmt"
	"math/rand/v2"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// simulation plays workers against a linearizable store that loses replies,
// refuses calls and applies some of them late. Every history that it makes is
// a good one.
type simulation struct {
	rand     *rand.Rand
	now      int64
	queue    agenda
	store    *state
	revision uint64
	ops      []*history.Operation // by invocation
	nextID   int64
	token    int
	lastSeen uint64 // some recent revision of the session, for conditions
	changing bool   // messages are removed, too
}

type appointment struct {
	at int64
	do func()
}

type agenda []appointment

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// simulate makes a history of workers that do calls each.
func simulate(r *rand.Rand, workers, calls int, changing bool) []*history.Operation {
	s := &simulation{rand: r, store: newState(), revision: 10, changing: changing}
	for w := range workers {
		s.later(0, func() { s.work(w, calls) })
	}
	for s.queue.Len() > 0 {
		next := heap.Pop(&s.queue).(appointment)
		s.now = next.at
		next.do()
	}
	s.now += 1e6
	final := s.invoke(99, history.Call{Func: history.Read, Final: true})
	s.effect(final)
	s.now++
	s.answer(final)
	return s.ops
}

func (s *simulation) later(upTo int64, do func()) {
	heap.Push(&s.queue, appointment{s.now + 1 + s.rand.Int64N(upTo+1), do})
}

func (s *simulation) invoke(worker int, c history.Call) *history.Operation {
	s.nextID++
	op := &history.Operation{ID: s.nextID, Process: worker, Node: "n1", Session: "0/s", Call: c,
		Invoke: s.now, Return: history.Forever, Outcome: history.Info}
	s.ops = append(s.ops, op)
	return op
}

func (s *simulation) work(worker, calls int) {
	if calls == 0 {
		return
	}
	s.attempt(worker, s.call(), calls)
}

// attempt makes one call; where its answer is lost it may be made again.
func (s *simulation) attempt(worker int, c history.Call, calls int) {
	op := s.invoke(worker, c)
	again := func() { s.work(worker, calls-1) }
	switch chance := s.rand.IntN(100); {
	case chance < 5: // refused before it got anywhere
		s.later(20, func() {
			op.Outcome, op.Return, op.Error = history.Fail, s.now, &history.Error{Code: "UNAVAILABLE"}
			again()
		})
	case chance < 20: // the answer is lost, and perhaps the call
		if s.rand.IntN(3) > 0 {
			s.later(200, func() { s.effect(op); op.Result, op.Error = history.Result{}, nil })
		}
		s.later(20, func() {
			if c.IDs && s.rand.IntN(4) > 0 {
				s.attempt(worker, c, calls)
				return
			}
			again()
		})
	default:
		s.later(20, func() {
			s.effect(op)
			s.later(20, func() { s.answer(op); again() })
		})
	}
}

// effect carries op out now.
func (s *simulation) effect(op *history.Operation) {
	next, r := s.store.apply(&op.Call)
	if r.changed {
		s.revision += 1 + s.rand.Uint64N(3)
		next = next.withRevision(s.store, s.revision)
	}
	s.store = next
	op.Result = r.Result
	if s.store.exists && !r.Duplicate {
		op.Result.Revision = s.store.revision
	}
	if r.code != "" {
		op.Error = &history.Error{Code: r.code, Revision: op.Result.Revision}
	}
}

func (s *simulation) answer(op *history.Operation) {
	op.Outcome, op.Return, op.End = history.OK, s.now, s.now
	if op.Error != nil {
		op.Outcome, op.Result = history.Fail, history.Result{}
	}
	if rev := op.Result.Revision; rev != 0 {
		s.lastSeen = rev
	}
}

func (s *simulation) call() history.Call {
	if s.changing && s.rand.IntN(3) == 0 {
		return s.removal()
	}
	switch s.rand.IntN(10) {
	case 0, 1, 2:
		return history.Call{Func: history.Read}
	case 3:
		return history.Call{Func: history.Read, Latest: true, N: 1 + s.rand.Uint64N(3)}
	case 4:
		return history.Call{Func: history.Read, Seq: s.rand.Uint64N(4), N: s.rand.Uint64N(3)}
	}
	c := history.Call{Func: history.Append, IDs: s.rand.IntN(2) == 0}
	if s.rand.IntN(3) == 0 {
		expect := s.lastSeen
		c.Expect = &expect
	}
	for range 1 + s.rand.IntN(3) {
		s.token++
		c.Values = append(c.Values, fmt.Sprintf("v%d", s.token))
	}
	return c
}

func (s *simulation) removal() history.Call {
	n := 1 + s.rand.Uint64N(3)
	switch s.rand.IntN(5) {
	case 0:
		return history.Call{Func: history.Trim, N: n}
	case 1:
		return history.Call{Func: history.Clear}
	case 2:
		return history.Call{Func: history.Delete}
	case 3:
		s.token++
		return history.Call{Func: history.Replace, Seq: n, Values: []string{fmt.Sprintf("v%d", s.token)}}
	}
	return history.Call{Func: history.Pop, N: n}
}
