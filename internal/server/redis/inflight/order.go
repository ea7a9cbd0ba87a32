package inflight

import (
	"context"
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// Order keeps the operations of one connection on one key in sequence, without
// making those on different keys wait for each other: many clients send the
// requests of all their callers over one connection. What names no key has the
// barrier.
//
// It belongs to the goroutine that reads requests, but for reading and written.
type Order struct {
	keys    map[turn.Key]*keyOrder
	Barrier <-chan struct{} // what everything must wait for before it starts; nil: nothing
	reading chan struct{}   // tokens of the reads in flight: see Limit
	Writes  inFlight        // of all keys
	written atomic.Uint64   // the last log entry of those that have been answered: see NoteIndex
	Doubts  Doubts
}

// keyOrder is what is in flight on a key. Reads end in the order in which they were requested, so
// the last one stands for all.
type keyOrder struct {
	writes inFlight
	read   *Read // the last one since the last write; nil: none
}

// inFlight has writes in the order of submission. One that no leader was found for can end before
// an earlier one that was sent to a leader that failed. The first in the list has not ended, as far
// as noted.
type inFlight []command.Pending

// prune drops the first writes that have ended: nearly always, all that have.
func (f *inFlight) prune(d *Doubts) {
	for len(*f) > 0 && signal.Closed((*f)[0].Done()) {
		d.Note((*f)[0])
		*f = (*f)[1:]
	}
}

func (f *inFlight) add(p command.Pending, d *Doubts) {
	f.prune(d)
	*f = append(*f, p)
}

// Doubts tells whether writes ended with an unknown outcome. Those can take place yet: a read that
// does not see one would say to the client that it has not taken place.
type Doubts struct{ noted, settled atomic.Uint64 }

// Note notes a write that has ended. Any goroutine may call it.
func (d *Doubts) Note(p command.Pending) {
	if _, err := p.Wait(); turn.Is(err, turn.Unknown) {
		d.noted.Add(1)
	}
}

// Open reports whether there is such a write that can take place yet.
func (d *Doubts) Open() bool { return d.noted.Load() > d.settled.Load() }

// settle waits until no such write can take place any more: an operation that changes nothing is
// submitted behind them, and what one node submits takes place in that order or not at all.
func (d *Doubts) settle(ctx context.Context, engine command.Engine) error {
	noted := d.noted.Load()
	if noted == d.settled.Load() {
		return nil
	}
	if _, err := engine.Submit(ctx, new(turn.Tx)).Wait(); err != nil {
		return turn.Errorf(turn.Unavailable,
			"an earlier write of this connection may take place yet, so nothing is read: %v", err)
	}
	d.settled.Store(noted)
	return nil
}

// Limit sets how many reads may be in flight. It must be called first.
func (o *Order) Limit(reads int) { o.reading = make(chan struct{}, reads) }

// pruneAt is the number of keys at which those with nothing in flight are dropped.
const pruneAt = 256

// BeforeRead has r wait for what is before it on k, and notes that it is in flight.
func (o *Order) BeforeRead(k turn.Key, r *Read) {
	e := o.entry(k)
	e.writes.prune(&o.Doubts)
	r.writes = append(r.writes, e.writes...)
	if e.read != nil && e.read != r && !signal.Closed(e.read.Done) {
		r.before = append(r.before, e.read)
	}
	e.read = r
}

// BeforeWrite returns what a write of k must wait for; nil: nothing.
func (o *Order) BeforeWrite(k turn.Key) (read <-chan struct{}) {
	if e := o.keys[k]; e != nil && e.read != nil {
		return e.read.Done
	}
	return nil
}

// NoteWritten notes that a write of k is in flight.
func (o *Order) NoteWritten(k turn.Key, p command.Pending) {
	e := o.entry(k)
	e.writes.add(p, &o.Doubts)
	e.read = nil
	o.Writes.add(p, &o.Doubts)
}

// SetBarrier notes that nothing is in flight but what closes done when it has ended, and
// that everything else waits for it.
func (o *Order) SetBarrier(done <-chan struct{}) {
	clear(o.keys)
	o.Barrier = done
}

// Admit waits until a read of that weight may start.
func (o *Order) Admit(weight int) {
	for range weight {
		o.reading <- struct{}{}
	}
}

// Release makes room for other reads. Any goroutine may call it.
func (o *Order) Release(weight int) {
	for range weight {
		<-o.reading
	}
}

// NoteIndex notes the log entry of a write before it is answered; 0: there is none. Any
// goroutine may call it.
func (o *Order) NoteIndex(index uint64) {
	for {
		known := o.written.Load()
		if index <= known || o.written.CompareAndSwap(known, index) {
			return
		}
	}
}

// LastIndex returns the newest log entry that was noted. Any goroutine may call it.
func (o *Order) LastIndex() uint64 { return o.written.Load() }

func (o *Order) entry(k turn.Key) *keyOrder {
	if e := o.keys[k]; e != nil {
		return e
	}
	if len(o.keys) >= pruneAt {
		o.prune()
	}
	if o.keys == nil {
		o.keys = make(map[turn.Key]*keyOrder)
	}
	e := new(keyOrder)
	o.keys[k] = e
	return e
}

func (o *Order) prune() {
	for k, e := range o.keys {
		if e.writes.prune(&o.Doubts); (e.read == nil || signal.Closed(e.read.Done)) && len(e.writes) == 0 {
			delete(o.keys, k)
		}
	}
}
