package propose

import "github.com/turnlog/turnlog/internal/codec"

// callBatch is a run of calls that were taken together.
type callBatch struct {
	gen      uint64
	calls    []*Call
	commands []codec.Command
	bytes    int
	weight   int
}

// take hands out the next calls: at most as many, as large and as heavy as given but, if
// alone, one of any size. It returns nil if there are none, or if gen is no longer current.
func (t *Calls) take(gen uint64, maxCommands, maxBytes, maxWeight int) *callBatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	if gen != t.gen || t.cursor == t.base+uint64(len(t.queue)) {
		return nil
	}
	b := &callBatch{gen: gen}
	for t.cursor < t.base+uint64(len(t.queue)) && len(b.calls) < maxCommands {
		c := t.queue[t.cursor-t.base]
		if !c.ended {
			if b.bytes > 0 && b.bytes+len(c.op) > maxBytes || c.weight > 0 && b.weight+c.weight > maxWeight {
				break
			}
			if c.attempt != 0 || c.exposed {
				t.stats.Retries++
			}
			c.attempt = gen
			b.bytes += len(c.op)
			b.weight += c.weight
			b.calls = append(b.calls, c)
			b.commands = append(b.commands, codec.Command{Origin: t.origin, Number: c.number, Op: c.op})
		}
		t.cursor++
	}
	if len(b.calls) == 0 {
		return nil
	}
	return b
}

// pending returns how many calls there are to take, or a few more: some may have
// ended meanwhile.
func (t *Calls) pending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.base + uint64(len(t.queue)) - t.cursor)
}

// rewind begins a new generation, since there is a leader in a term: every unresolved call is to be taken again.
// Attempts in flight may yet succeed. A call that was rejected alone ends if others were sent behind it: these may have
// taken place, and it would now be sent behind them. It returns the generation.
func (t *Calls) rewind(term uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.queue {
		if c.attempt != 0 {
			t.exposeLocked(c)
		}
		if !c.ended && c.rejected && c.alone && c.number+1 < t.cursor {
			t.endRejectedLocked(c)
		}
		c.rejected = false
	}
	t.trimLocked()
	t.cursor = t.base
	t.gen++
	t.term = term
	t.led = true
	return t.gen
}

// leaderless says that the leader of a generation, unless that is over, leads no more, or cannot be reached.
func (t *Calls) leaderless(gen uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if gen == t.gen {
		t.led = false
	}
}
