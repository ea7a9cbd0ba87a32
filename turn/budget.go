package turn

import (
	"math"
	"slices"

	"github.com/turnlog/turnlog/internal/toolcalls"
)

// Budget bounds the messages of one answer. A field of zero or less sets no
// bound.
//
// A tool call and its result stay together: either both are returned or neither, as long as they are at
// most ToolReach messages apart. If nothing that fits the budget keeps them together, the shortest
// beginning that does is returned, although it exceeds the budget, so that a reader always makes
// progress. Messages more than ToolReach messages or 16 MiB beyond the budget are not considered; a
// call or result among them may be separated from its partner.
type Budget struct {
	Messages int
	Bytes    int64 // of payload
	Tokens   int64 // a token is counted as four bytes of payload
	// Size bounds what the messages count for, as Limits.AnswerBytes says. It also keeps from returning a tool call or
	// result that the other bounds leave out; only one message alone exceeds it.
	Size int64
}

// ToolReach is the greatest distance, in messages, at which a tool call and
// its result are recognised as belonging together.
const ToolReach = 128

// toolReachBytes is the payload beyond the budget after which no more is looked at.
const toolReachBytes = 16 << 20

// Take returns the newest (or else the oldest) messages that fit b, in commit
// order, and whether anything was left out. next yields the candidates one by
// one in the order in which they are preferred: newest first (or else oldest
// first). Take asks for no more of them than it needs: usually one more than it
// returns, and up to a call or result beyond it where a tool call is near.
//
// Of the newest, none is a result whose call was left out; of the oldest, none
// is a call whose result follows and was left out.
func (b Budget) Take(newest bool, next func() (Message, bool)) (kept []Message, cut bool) {
	c := cutter{next: next, newest: newest}
	fit, whole := c.fill(b)
	if whole {
		fit = len(c.seen)
	} else {
		fit = c.settle(fit)
	}
	cut = fit < len(c.seen)
	if !cut && !c.ended {
		_, cut = next()
	}
	kept = c.seen[:fit:fit]
	if newest {
		slices.Reverse(kept)
	}
	return kept, cut
}

// size is what a message counts for in an answer.
func (m *Message) size() int64 { return int64(ItemBytes + len(m.ID) + len(m.Data)) }

// bytes is the payload bound that Bytes and Tokens make together.
func (b Budget) bytes() int64 {
	limit := int64(math.MaxInt64)
	if b.Bytes > 0 {
		limit = b.Bytes
	}
	if b.Tokens > 0 && b.Tokens < math.MaxInt64/4 {
		limit = min(limit, 4*b.Tokens)
	}
	return limit
}

// cutter finds where an answer ends. A position is an index into seen, which
// is in the order of preference; a cut at k keeps seen[:k].
//
// A need is a tool id that must not be kept without its partner (a result going
// from the newest, a call going from the oldest); the partner, which comes later
// in seen, is a give.
type cutter struct {
	next   func() (Message, bool)
	newest bool
	ended  bool
	seen   []Message
	extra  int64 // payload bytes seen beyond the budget
	room   int64 // what is left of Size beyond the messages that fit the budget

	linked int              // seen[start:linked] have been searched for tool ids
	start  int              // no link of an earlier position is of interest
	far    []int            // far[i] is the position of the farthest give that start+i needs; start+i if none
	wants  []int            // wants[i] counts the needs of start+i that no give has met yet
	open   map[uint64][]int // tool id → positions of the needs in wants
}

// fill reads until b is exceeded. It returns the number of messages that fit,
// at least one if there is any, and whether they are all.
func (c *cutter) fill(b Budget) (fit int, whole bool) {
	left := b.bytes()
	if c.room = b.Size; c.room <= 0 {
		c.room = math.MaxInt64
	}
	for {
		m, ok := c.next()
		if !ok {
			c.ended = true
			return len(c.seen), true
		}
		c.seen = append(c.seen, m)
		left -= int64(len(m.Data))
		n := len(c.seen)
		if n > 1 && (left < 0 || b.Messages > 0 && n > b.Messages || c.room < m.size()) {
			return n - 1, false
		}
		c.room -= m.size()
	}
}

// settle moves the cut at fit to the nearest one that splits nothing, if
// possible to an earlier one.
func (c *cutter) settle(fit int) int {
	c.start = max(0, fit-2*ToolReach)
	c.linked = c.start
	c.open = make(map[uint64][]int)
	for k := fit; k > max(0, fit-ToolReach); k-- {
		if c.clean(k) {
			return k
		}
	}
	for k := fit + 1; k <= fit+ToolReach; k++ {
		if k > len(c.seen) && !c.more() {
			break
		}
		if c.room -= c.seen[k-1].size(); c.room < 0 {
			break
		}
		if c.clean(k) {
			return k
		}
	}
	return fit
}

// clean reports whether a cut at k splits no call from its result.
func (c *cutter) clean(k int) bool {
	for c.linked < k {
		c.link()
	}
	for c.waiting(k) && (c.linked < len(c.seen) || c.more()) {
		c.link()
	}
	for i := range k - c.start {
		if c.far[i] >= k {
			return false
		}
	}
	return true
}

// waiting reports whether the next message to be searched could hold the give
// for a need before k.
func (c *cutter) waiting(k int) bool {
	for at := max(c.start, c.linked-ToolReach); at < k; at++ {
		if c.wants[at-c.start] > 0 {
			return true
		}
	}
	return false
}

// more reads one message beyond the budget.
func (c *cutter) more() bool {
	if c.ended || c.extra > toolReachBytes {
		return false
	}
	m, ok := c.next()
	if !ok {
		c.ended = true
		return false
	}
	c.seen = append(c.seen, m)
	c.extra += int64(len(m.Data))
	return true
}

// link searches the next message for tool ids and meets the needs that it can.
// A message's own calls and results have met each other.
func (c *cutter) link() {
	at := c.linked
	c.linked++
	c.far = append(c.far, at)
	c.wants = append(c.wants, 0)
	ids := toolcalls.Of(c.seen[at].Data)
	needs, gives := ids.Calls, ids.Results
	if c.newest {
		needs, gives = gives, needs
	}
	for _, id := range gives {
		for _, need := range c.open[id] {
			c.wants[need-c.start]--
			if at-need <= ToolReach {
				c.far[need-c.start] = at
			}
		}
		delete(c.open, id)
	}
	for _, id := range needs {
		c.wants[at-c.start]++
		c.open[id] = append(c.open[id], at)
	}
}
