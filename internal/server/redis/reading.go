package redis

import "math"

// reading is a read in flight. Reads of a key run at the same time and end in the order of
// their requests. None answers from an older state than one before it: it asks again.
type reading struct {
	writes []<-chan struct{} // what it waits for before it begins
	before []*reading        // the last read before it of each of its keys
	done   chan struct{}     // closed when it has ended
	seen   uint64            // once it has: the log index of the newest state that was answered from
}

// states are the log indexes of the oldest and the newest state that an answer is from.
type states struct{ oldest, newest uint64 }

// unknownStates are those of an answer that does not tell.
var unknownStates = states{0, math.MaxUint64}

func (s states) with(index uint64) states {
	if s == (states{}) {
		return states{index, index}
	}
	return states{min(s.oldest, index), max(s.newest, index)}
}

// read performs a task once its turn has come. The caller closes r.done.
func (s *Server) read(r *reading, t *task) (answer Reply, err error) {
	for _, w := range r.writes {
		s.await(w)
	}
	var seen states
	var newest uint64
	if !t.repeatable { // it cannot be told whether it has to be repeated
		newest = r.newest(s)
	}
	answer, seen, err = t.run(s.work)
	if t.repeatable {
		newest = r.newest(s)
	}
	if answered := seen != (states{}); answered && t.repeatable && seen.oldest < newest {
		answer, seen, err = t.run(s.work) // it begins after them, and sees what they saw
	}
	if seen == (states{}) { // nothing was answered
		seen.newest = newest
	}
	r.seen, r.writes, r.before = seen.newest, nil, nil
	return answer, err
}

// newest waits for the reads before r, and returns the newest state that they answered from.
func (r *reading) newest(s *Server) (index uint64) {
	for _, b := range r.before {
		s.await(b.done)
		if closed(b.done) {
			index = max(index, b.seen)
		}
	}
	return index
}
