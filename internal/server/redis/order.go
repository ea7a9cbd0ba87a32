package redis

import (
	"context"
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// order keeps the operations of one connection on one key in sequence, without
// making those on different keys wait for each other: many clients send the
// requests of all their callers over one connection. What names no key has the
// barrier.
//
// It belongs to the goroutine that reads requests, but for reading and written.
type order struct {
	keys    map[turn.Key]*keyOrder
	barrier <-chan struct{} // what everything must wait for before it starts; nil: nothing
	reading chan struct{}   // tokens of the reads in flight, see maxReads
	writes  inFlight        // of all keys
	written atomic.Uint64   // the last log entry of those that have been answered: see noteWrite
	doubts  doubts
}

// keyOrder is what is in flight on a key. Reads end in the order in which they were requested, so
// the last one stands for all.
type keyOrder struct {
	writes inFlight
	read   *reading // the last one since the last write; nil: none
}

// inFlight has writes in the order of submission. One that no leader was found for can end before
// an earlier one that was sent to a leader that failed. The first in the list has not ended, as far
// as noted.
type inFlight []command.Pending

// prune drops the first writes that have ended: nearly always, all that have.
func (f *inFlight) prune(d *doubts) {
	for len(*f) > 0 && signal.Closed((*f)[0].Done()) {
		d.note((*f)[0])
		*f = (*f)[1:]
	}
}

func (f *inFlight) add(p command.Pending, d *doubts) {
	f.prune(d)
	*f = append(*f, p)
}

// doubts tells whether writes ended with an unknown outcome. Those can take place yet: a read that
// does not see one would say to the client that it has not taken place.
type doubts struct{ noted, settled atomic.Uint64 }

// note notes a write that has ended. Any goroutine may call it.
func (d *doubts) note(p command.Pending) {
	if _, err := p.Wait(); turn.Is(err, turn.Unknown) {
		d.noted.Add(1)
	}
}

// open reports whether there is such a write that can take place yet.
func (d *doubts) open() bool { return d.noted.Load() > d.settled.Load() }

// settle waits until no such write can take place any more: an operation that changes nothing is
// submitted behind them, and what one node submits takes place in that order or not at all.
func (d *doubts) settle(ctx context.Context, engine command.Engine) error {
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

// pruneAt is the number of keys at which those with nothing in flight are dropped.
const pruneAt = 256

// beforeRead has r wait for what is before it on k, and notes that it is in flight.
func (o *order) beforeRead(k turn.Key, r *reading) {
	e := o.entry(k)
	e.writes.prune(&o.doubts)
	r.writes = append(r.writes, e.writes...)
	if e.read != nil && e.read != r && !signal.Closed(e.read.done) {
		r.before = append(r.before, e.read)
	}
	e.read = r
}

// beforeWrite returns what a write of k must wait for; nil: nothing.
func (o *order) beforeWrite(k turn.Key) (read <-chan struct{}) {
	if e := o.keys[k]; e != nil && e.read != nil {
		return e.read.done
	}
	return nil
}

// wrote notes that a write of k is in flight.
func (o *order) wrote(k turn.Key, p command.Pending) {
	e := o.entry(k)
	e.writes.add(p, &o.doubts)
	e.read = nil
	o.writes.add(p, &o.doubts)
}

// alone notes that nothing is in flight but what closes done when it has ended, and
// that everything else waits for it.
func (o *order) alone(done <-chan struct{}) {
	clear(o.keys)
	o.barrier = done
}

// admit waits until a read of that weight may start.
func (o *order) admit(weight int) {
	for range weight {
		o.reading <- struct{}{}
	}
}

// release makes room for other reads. Any goroutine may call it.
func (o *order) release(weight int) {
	for range weight {
		<-o.reading
	}
}

// noteWrite notes the log entry of a write before it is answered; 0: there is none. Any
// goroutine may call it.
func (o *order) noteWrite(index uint64) {
	for {
		known := o.written.Load()
		if index <= known || o.written.CompareAndSwap(known, index) {
			return
		}
	}
}

func (o *order) entry(k turn.Key) *keyOrder {
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

func (o *order) prune() {
	for k, e := range o.keys {
		if e.writes.prune(&o.doubts); (e.read == nil || signal.Closed(e.read.done)) && len(e.writes) == 0 {
			delete(o.keys, k)
		}
	}
}
