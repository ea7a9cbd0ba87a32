package inflight

import (
	"context"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/signal"
)

// Read is a read in flight. Reads of a key run at the same time and end in the order of
// their requests. None answers from an older state than one before it: it asks again.
type Read struct {
	writes []command.Pending // what it waits for before it begins
	before []*Read           // the last read before it of each of its keys
	Done   chan struct{}     // closed when it has ended
	seen   uint64            // once it has: the log index of the newest state that was answered from
}

// Task is what a goroutine of its own does for a request.
type Task struct {
	// Run returns the states that answered, too.
	Run        func(ctx context.Context) (command.Reply, command.States, error)
	Repeatable bool // Run may be called again
	// Linearizable: it begins when no earlier write of the connection can take place any more.
	Linearizable bool
}

// Perform performs a task once its turn has come. The caller closes r.Done.
func (r *Read) Perform(ctx context.Context, engine command.Engine, t *Task,
	d *Doubts) (answer command.Reply, err error) {
	for _, w := range r.writes {
		Await(ctx, w.Done())
		d.Note(w)
	}
	if t.Linearizable {
		if err := d.settle(ctx, engine); err != nil {
			return nil, err
		}
	}
	var seen command.States
	var newest uint64
	if !t.Repeatable { // it cannot be told whether it has to be repeated
		newest = r.newest(ctx)
	}
	answer, seen, err = t.Run(ctx)
	if t.Repeatable {
		newest = r.newest(ctx)
	}
	if answered := seen != (command.States{}); answered && t.Repeatable && seen.Oldest < newest {
		answer, seen, err = t.Run(ctx) // it begins after them, and sees what they saw
	}
	if seen == (command.States{}) { // nothing was answered
		seen.Newest = newest
	}
	r.seen, r.writes, r.before = seen.Newest, nil, nil
	return answer, err
}

// newest waits for the reads before r, and returns the newest state that they answered from.
func (r *Read) newest(ctx context.Context) (index uint64) {
	for _, b := range r.before {
		Await(ctx, b.Done)
		if signal.Closed(b.Done) {
			index = max(index, b.seen)
		}
	}
	return index
}

// Await waits for something in flight, or for the end of ctx.
func Await(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}
