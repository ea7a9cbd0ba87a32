package redis

import (
	"sync/atomic"

	"github.com/turnlog/turnlog/turn"
)

// order keeps the operations of one connection on one key in sequence, without
// making those on different keys wait for each other: many clients send the
// requests of all their callers over one connection. What names no key has the
// barrier; what has to do with all writes goes by the last one.
//
// It belongs to the goroutine that reads requests, but for reading and written.
type order struct {
	keys      map[turn.Key]*keyOrder
	barrier   <-chan struct{} // what everything must wait for before it starts; nil: nothing
	reading   chan struct{}   // tokens of the reads under way, see maxReads
	lastWrite Pending         // the last one that was handed over at once
	written   atomic.Uint64   // the log entry of the last one that has ended, as far as noted: see noteWrite
}

// keyOrder is what is under way on a key. Writes end in the order in which they
// were submitted, so the last one stands for all.
type keyOrder struct {
	write <-chan struct{}   // closed when the last write has ended; nil: none
	reads []<-chan struct{} // those since the last write
}

// pruneAt is the number of keys at which those with nothing under way are dropped.
const pruneAt = 256

// beforeRead returns what a read of k must wait for, nil for nothing, and notes
// that the read is under way until done is closed.
func (o *order) beforeRead(k turn.Key, done <-chan struct{}) (write <-chan struct{}) {
	e := o.entry(k)
	e.reads = append(running(e.reads), done)
	return e.write
}

// beforeWrite returns the reads that a write of k must wait for.
func (o *order) beforeWrite(k turn.Key) []<-chan struct{} {
	if e := o.keys[k]; e != nil {
		return running(e.reads)
	}
	return nil
}

// wrote notes that a write of k is under way until done is closed.
func (o *order) wrote(k turn.Key, done <-chan struct{}) {
	e := o.entry(k)
	e.write, e.reads = done, nil
}

// alone notes that nothing is under way but what closes done when it has ended, and
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

// noteWrite notes the log entry of a write that has ended. Whoever calls it has the
// connection for himself.
func (o *order) noteWrite(index uint64) { o.written.Store(max(index, o.written.Load())) }

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
		if len(running(e.reads)) == 0 && (e.write == nil || closed(e.write)) {
			delete(o.keys, k)
		}
	}
}

// running returns those that are not closed, in the memory of cs.
func running(cs []<-chan struct{}) []<-chan struct{} {
	out := cs[:0]
	for _, c := range cs {
		if !closed(c) {
			out = append(out, c)
		}
	}
	return out
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
