package peer

import (
	"errors"
	"net"
	"sync"
)

// An outbox gathers the frames of one connection and writes them in batches:
// all frames that come while a write is in flight leave with the next one.
// Its methods may be called by any goroutine.
type outbox struct {
	limit int // bytes that may wait

	mu     sync.Mutex
	full   net.Buffers // closed segments, in order
	tail   []byte      // open segment behind them
	bytes  int         // bytes in full and tail
	spare  []byte      // a written tail, for reuse
	closed bool
	wake   chan struct{} // cap 1: there is something to write, or closed
}

// A payload from this size on is written from where it lies, not copied.
const copyBelow = 16 << 10

// maxSpare bounds the buffer that an idle connection keeps.
const maxSpare = 256 << 10

var errOutboxFull = errors.New("peer: the other side reads too slowly")
var errClosed = errors.New("peer: connection closed")

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1)}
}

// put queues a frame. The payload must not change any more.
func (o *outbox) put(f frame) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errClosed
	}
	size := frameLength + frameHeader + len(f.payload)
	if o.bytes > 0 && o.bytes+size > o.limit {
		return errOutboxFull
	}
	if o.tail == nil {
		o.tail, o.spare = o.spare[:0], nil
	}
	o.tail = appendHeader(o.tail, f)
	if len(f.payload) < copyBelow {
		o.tail = append(o.tail, f.payload...)
	} else {
		o.full = append(o.full, o.tail, f.payload)
		o.tail = nil
	}
	o.bytes += size
	o.signalLocked()
	return nil
}

func (o *outbox) signalLocked() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// close makes run return once it has nothing in flight; what waits is dropped.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.signalLocked()
}

// run writes to c until the outbox is closed or a write fails.
func (o *outbox) run(c net.Conn) error {
	for range o.wake {
		o.mu.Lock()
		if o.closed {
			o.mu.Unlock()
			return nil
		}
		batch, tail := o.full, o.tail
		o.full, o.tail, o.bytes = nil, nil, 0
		o.mu.Unlock()
		if err := write(c, batch, tail); err != nil {
			return err
		}
		if cap(tail) <= maxSpare {
			o.mu.Lock()
			o.spare = tail
			o.mu.Unlock()
		}
	}
	return nil
}

func write(c net.Conn, batch net.Buffers, tail []byte) error {
	if len(batch) == 0 {
		if len(tail) == 0 {
			return nil
		}
		_, err := c.Write(tail)
		return err
	}
	batch = append(batch, tail)
	_, err := batch.WriteTo(c)
	return err
}
