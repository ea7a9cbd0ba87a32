package redis

import (
	"sync/atomic"

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
}

// keyOrder is what is in flight on a key. Reads end in the order in which they were requested, so
// the last one stands for all.
type keyOrder struct {
	writes inFlight
	read   *reading // the last one since the last write; nil: none
}

// inFlight has, for each write in the order of submission, what is closed when it has ended. One that
// no leader was found for can end before an earlier one that was sent to a leader that failed.
// The first in the list has not ended, as far as noted.
type inFlight []<-chan struct{}

// prune drops the first writes that have ended: nearly always, all that have.
func (f *inFlight) prune() {
	for len(*f) > 0 && closed((*f)[0]) {
		*f = (*f)[1:]
	}
}

func (f *inFlight) add(done <-chan struct{}) {
	f.prune()
	*f = append(*f, done)
}

// pruneAt is the number of keys at which those with nothing in flight are dropped.
const pruneAt = 256

// beforeRead has r wait for what is before it on k, and notes that it is in flight.
func (o *order) beforeRead(k turn.Key, r *reading) {
	e := o.entry(k)
	e.writes.prune()
	r.writes = append(r.writes, e.writes...)
	if e.read != nil && e.read != r && !closed(e.read.done) {
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

// wrote notes that a write of k is in flight until done is closed.
func (o *order) wrote(k turn.Key, done <-chan struct{}) {
	e := o.entry(k)
	e.writes.add(done)
	e.read = nil
	o.writes.add(done)
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
		if e.writes.prune(); (e.read == nil || closed(e.read.done)) && len(e.writes) == 0 {
			delete(o.keys, k)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
