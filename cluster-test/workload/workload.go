// Package workload makes the calls: workers that append to sessions and read
// them through every node and API, and record each call before and after.
package workload

import (
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Workload is what a group of workers does.
type Workload struct {
	Name  string
	About string
	APIs  []string
	// Namespaces in which sessions live; default: one.
	Namespaces []string
	Sessions   int // in use at a time
	Calls      int // on one session, then it is retired
	Unknowns   int // calls without an answer after which it is retired; 0: any
	Tailers    int // workers that follow sessions instead
	// Listeners are connections that subscribe; sessions are then channels.
	Listeners int
	// TTLs, in milliseconds, one of which each session has and each append renews.
	TTLs    []int64
	Removes bool // messages are removed: lists do not tell seqs
	Timed   bool // the final reads tell the times of messages
	// Values are types of Redis values. If there are any, each key has one of these types, and workers call that
	// type's commands, not those of sessions.
	Values []string
	// Pipeline is how many calls a worker sends at a time, at most, without waiting for
	// answers; 0: one after the other.
	Pipeline int
	Rounds   int // acknowledged writes after which a worker has done its work; 0: any
	// Next makes up a call. It sets everything but Values' tokens: it asks w
	// for those.
	Next func(w *worker, s *Session) history.Call
}

// appendOrRead suits every API: plain Redis commands have no ids.
func appendOrRead(w *worker, s *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		return w.read(s)
	}
	return w.append(1+w.rand.IntN(3), w.rand.IntN(4) > 0)
}

// pipelined makes mostly appends, half of them by TURN.APPEND, which tells revisions.
func pipelined(w *worker, s *Session) history.Call {
	if w.rand.IntN(8) == 0 {
		return w.read(s)
	}
	c := w.append(1+w.rand.IntN(2), false)
	c.IDs = w.rand.IntN(2) == 0
	return c
}

func publish(w *worker, _ *Session) history.Call {
	return history.Call{Func: history.Publish, Values: []string{w.run.token()}}
}

// large makes one message in a hundred as large as it can be, or nearly.
func large(w *worker, _ *Session) history.Call {
	if w.rand.IntN(3) == 0 {
		return history.Call{Func: history.Read, Latest: true, N: 1 + w.rand.Uint64N(2)}
	}
	c := w.append(1, true)
	if w.rand.IntN(100) == 0 {
		c.Values[0] += sized + w.one([]string{"64", "1024", "4097", "8192"})
	}
	return c
}

func shortAppend(w *worker, _ *Session) history.Call { return w.append(1+w.rand.IntN(2), true) }

func conditional(w *worker, s *Session) history.Call {
	if w.rand.IntN(3) == 0 {
		return w.read(s)
	}
	c := w.append(1+w.rand.IntN(2), true)
	expect := s.Revision()
	c.Expect = &expect
	return c
}

// readThenAppend expects what the worker itself has read.
func readThenAppend(w *worker, _ *Session) history.Call {
	if w.hasRead = !w.hasRead; w.hasRead {
		return history.Call{Func: history.Read, Latest: true, N: 1}
	}
	c := w.append(1, true)
	expect := w.revision
	c.Expect = &expect
	return c
}

func manyMessages(w *worker, s *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		return w.read(s)
	}
	return w.append(2+w.rand.IntN(12), w.rand.IntN(2) == 0)
}

func staleReads(w *worker, s *Session) history.Call {
	c := appendOrRead(w, s)
	if c.Func == history.Read {
		kind := w.rand.IntN(3)
		c.Stale = kind > 0
		if kind == 2 {
			c.MaxAge = 1 + w.rand.Int64N(400)
		}
	}
	return c
}

func transaction(w *worker, _ *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		return history.Call{Func: history.Read}
	}
	c := w.append(1+w.rand.IntN(3), false)
	c.Watch = w.rand.IntN(2) == 0
	return c
}

func wholeTransaction(w *worker, _ *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		return history.Call{Func: history.Read}
	}
	watch := w.rand.IntN(3) == 0
	c := w.append(1+w.rand.IntN(3), !watch)
	c.Watch = watch
	return c
}

func mixed(w *worker, s *Session) history.Call {
	if w.apiName == RESP {
		return list(w, s)
	}
	n := 1 + w.rand.Uint64N(3)
	switch w.rand.IntN(20) {
	case 0, 1:
		return history.Call{Func: history.Pop, N: n, Oldest: w.apiName != HTTP && w.rand.IntN(2) == 0}
	case 2:
		return history.Call{Func: history.Trim, N: 2 * n}
	case 3:
		return history.Call{Func: history.Clear}
	case 4:
		return history.Call{Func: history.Delete}
	case 5:
		c := w.append(1, false)
		c.Func, c.Seq = history.Replace, max(s.Last(), n)-n+1
		return c
	case 6, 7, 8, 9, 10, 11:
		return history.Call{Func: history.Read}
	case 12:
		return conditional(w, s)
	}
	return w.append(1+w.rand.IntN(2), w.rand.IntN(3) > 0)
}

// trimming keeps a session short, and lets no subscriber see all of it.
func trimming(w *worker, _ *Session) history.Call {
	switch w.rand.IntN(10) {
	case 0, 1:
		return history.Call{Func: history.Trim, N: 1 + w.rand.Uint64N(4)}
	case 2:
		return history.Call{Func: history.Pop, N: 1 + w.rand.Uint64N(2)}
	case 3:
		return history.Call{Func: history.Clear}
	case 4, 5:
		return history.Call{Func: history.Read}
	}
	return w.append(1+w.rand.IntN(4), true)
}

// restarting has a session begin again after a few messages: a subscriber that was at its end
// may next look when the new one is longer.
func restarting(w *worker, s *Session) history.Call {
	switch w.rand.IntN(12) {
	case 0, 1:
		return history.Call{Func: history.Delete}
	case 2:
		return trimming(w, s)
	case 3, 4, 5, 6:
		return history.Call{Func: history.Read}
	}
	return w.append(1+w.rand.IntN(4), true)
}

// list is what chat libraries do with a list.
func list(w *worker, s *Session) history.Call {
	n := 1 + w.rand.Uint64N(3)
	var c history.Call
	switch w.rand.IntN(9) {
	case 0:
		c = history.Call{Func: history.Pop, N: n, Oldest: w.rand.IntN(2) == 0}
	case 8:
		c = history.Call{Func: history.Pop, N: 1, Oldest: w.rand.IntN(2) == 0, Blocks: true}
	case 1:
		c = history.Call{Func: history.Trim, N: 2 * n}
	case 2, 3, 4:
		c = w.read(s)
	default:
		c = w.append(int(n), false)
	}
	c.List = true
	return c
}

// queue keeps the list short, so that clients have to wait.
func queue(w *worker, _ *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		c := w.append(1, false)
		c.List = true
		return c
	}
	return history.Call{Func: history.Pop, N: 1, Oldest: w.rand.IntN(3) > 0, Blocks: w.rand.IntN(4) > 0, List: true}
}

// LongestTTL is the longest time that the workload gives a session.
func (w *Workload) LongestTTL() time.Duration {
	return time.Duration(slices.Max(append(w.TTLs, 0))) * time.Millisecond
}

func expiring(w *worker, s *Session) history.Call {
	if w.rand.IntN(2) == 0 {
		return w.read(s)
	}
	c := w.append(1+w.rand.IntN(3), true)
	c.TTL = s.ttl
	if w.rand.IntN(4) == 0 {
		expect := s.Revision()
		c.Expect = &expect
	}
	return c
}

// append makes up an append of n messages.
func (w *worker) append(n int, ids bool) history.Call {
	c := history.Call{Func: history.Append, IDs: ids && w.apiName != RESP && w.apiName != TX}
	for range n {
		c.Values = append(c.Values, w.run.token())
	}
	// The Go client always sends ids; under ones that it mints itself, a call
	// is still made once only, but its retries stay its own affair.
	c.Retries = w.apiName == Client
	return c
}

// read makes up a read.
func (w *worker) read(s *Session) history.Call {
	c := history.Call{Func: history.Read}
	if w.apiName == RESP {
		if w.rand.IntN(3) > 0 {
			c.Seq = history.TailOnly
		}
		return c
	}
	switch w.rand.IntN(10) {
	case 0: // all of it
	case 1, 2, 3:
		last := s.Last()
		c.Seq, c.N = last-min(last, w.rand.Uint64N(8)), w.rand.Uint64N(10)
	default:
		c.Latest, c.N = true, 1+w.rand.Uint64N(10)
	}
	return c
}
