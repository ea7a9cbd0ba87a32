package faultproxy

import (
	"sync"
	"time"
)

// Flow is what happens to bytes that travel in one direction.
type Flow struct {
	// Cut resets the connections and refuses new ones.
	Cut bool
	// Hold keeps bytes back, in order, and connections open: neither end
	// notices. What was held back is delivered when Hold ends, as a network
	// delivers retransmissions after a partition.
	Hold bool
	// Delay is added to each chunk of bytes, and up to Jitter more at random.
	Delay, Jitter time.Duration
	// Loss is the share of chunks that are held up for 200 to 400 ms, as TCP
	// does when a packet is lost.
	Loss float64
}

const retransmission = 200 * time.Millisecond

// A Direction is one direction between two ends; any number of connections may
// run through it. The zero Direction lets everything pass.
type Direction struct {
	mu      sync.Mutex
	flow    Flow
	changed chan struct{} // closed and replaced at each change of flow
}

// Set changes what happens to bytes from now on, those in flight included.
func (d *Direction) Set(f Flow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flow = f
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// Flow returns what happens to bytes now.
func (d *Direction) Flow() Flow {
	f, _ := d.watch()
	return f
}

func (d *Direction) watch() (Flow, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.flow, d.changed
}

// chunk is some bytes on their way.
type chunk struct {
	data    []byte
	arrived time.Time
	dice    float64 // in [0,1), its luck with jitter and loss
}

// pass waits until c may be delivered. It reports false if done closed first.
func (d *Direction) pass(c chunk, done <-chan struct{}) bool {
	for {
		flow, changed := d.watch()
		wait := time.Until(c.arrived.Add(flow.latency(c.dice)))
		if !flow.Hold && wait <= 0 {
			return true
		}
		var due <-chan time.Time
		if !flow.Hold {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-due:
		case <-changed:
		case <-done:
			return false
		}
	}
}

func (f Flow) latency(dice float64) time.Duration {
	d := f.Delay + time.Duration(dice*float64(f.Jitter))
	if dice < f.Loss {
		d += retransmission + time.Duration(dice/f.Loss*float64(retransmission))
	}
	return d
}
