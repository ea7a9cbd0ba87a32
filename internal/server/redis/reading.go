package redis

import (
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/signal"
)

// reading is a read in flight. Reads of a key run at the same time and end in the order of
// their requests. None answers from an older state than one before it: it asks again.
type reading struct {
	writes []command.Pending // what it waits for before it begins
	before []*reading        // the last read before it of each of its keys
	done   chan struct{}     // closed when it has ended
	seen   uint64            // once it has: the log index of the newest state that was answered from
}

// read performs a task once its turn has come. The caller closes r.done.
func (s *Server) read(r *reading, t *task, d *doubts) (answer command.Reply, err error) {
	for _, w := range r.writes {
		s.await(w.Done())
		d.note(w)
	}
	if t.linearizable {
		if err := d.settle(s.work, s.engine); err != nil {
			return nil, err
		}
	}
	var seen command.States
	var newest uint64
	if !t.repeatable { // it cannot be told whether it has to be repeated
		newest = r.newest(s)
	}
	answer, seen, err = t.run(s.work)
	if t.repeatable {
		newest = r.newest(s)
	}
	if answered := seen != (command.States{}); answered && t.repeatable && seen.Oldest < newest {
		answer, seen, err = t.run(s.work) // it begins after them, and sees what they saw
	}
	if seen == (command.States{}) { // nothing was answered
		seen.Newest = newest
	}
	r.seen, r.writes, r.before = seen.Newest, nil, nil
	return answer, err
}

// newest waits for the reads before r, and returns the newest state that they answered from.
func (r *reading) newest(s *Server) (index uint64) {
	for _, b := range r.before {
		s.await(b.done)
		if signal.Closed(b.done) {
			index = max(index, b.seen)
		}
	}
	return index
}

// await waits for something in flight, or for the end of all work.
func (s *Server) await(done <-chan struct{}) {
	select {
	case <-done:
	case <-s.work.Done():
	}
}
