package main

import (
	"fmt"
	"strings"
)

// verdict is what became of a driver's messages.
type verdict struct {
	attempted, acked int
	lost             int // acknowledged, and absent in the end
	stale            int // acknowledged, and absent in a later read
	doubled          int // copies beyond the first
	reordered        int // before one that was acknowledged before it was sent
	foreign          int // of another conversation, or never sent
	appeared         int // reported as failed, and stored
	dishonest        int // of these, reported as surely not stored
	unread           int // conversations without a final read
	examples         []string
}

// judge compares the record with what the library showed. A conversation has one
// writer, so every view of it must hold all messages that were acknowledged by then,
// each before those that were sent after it was acknowledged. A message that was
// reported as failed may be stored or not. Copies are judged by the first one, which
// was stored, at the latest, when the call returned.
func (r *record) judge() verdict {
	var v verdict
	for _, name := range r.order {
		c := r.conversations[name]
		v.attempted += len(c.adds)
		for _, a := range c.adds {
			if a.acked {
				v.acked++
			}
		}
		for _, seen := range c.reads {
			w := c.compare(seen)
			w.stale, w.lost = w.lost, 0
			w.appeared, w.dishonest, w.doubled = 0, 0, 0 // counted in the end
			v.merge(w)
		}
		if c.final == nil {
			v.unread++
			continue
		}
		v.merge(c.compare(*c.final))
	}
	return v
}

// compare judges one view.
func (c *conversation) compare(seen view) verdict {
	var v verdict
	first := map[int]int{} // message → its first place
	for place, text := range seen.texts {
		n, ok := c.number(text)
		if !ok {
			v.foreign++
			v.example("%s shows %q at %d", c.name, text, place)
			continue
		}
		if before, twice := first[n]; twice {
			v.doubled++
			v.example("%s shows %d at %d and %d", c.name, n, before, place)
			continue
		}
		first[n] = place
	}
	last := -1 // the rearmost place of an acknowledged message so far
	for _, a := range c.adds[:seen.after] {
		place, there := first[a.n]
		if !there && a.acked {
			v.lost++
			v.example("%s: message %d of %d is absent", c.name, a.n, seen.after)
		}
		if !there {
			continue
		}
		if place < last {
			v.reordered++
			v.example("%s: message %d is at %d, before an earlier one", c.name, a.n, place)
		}
		if a.acked {
			last = max(last, place)
		} else {
			v.appeared++
			if a.refused {
				v.dishonest++
				v.example("%s: message %d was refused, and is at %d", c.name, a.n, place)
			}
		}
	}
	return v
}

// number tells which message of the conversation a text is. Only sent ones count.
func (c *conversation) number(text string) (int, bool) {
	var n int
	rest, ok := strings.CutPrefix(text, c.name+"/")
	if !ok {
		return 0, false
	}
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil || fmt.Sprint(n) != rest {
		return 0, false
	}
	return n, n >= 0 && n < len(c.adds)
}

const maxExamples = 5

func (v *verdict) example(format string, args ...any) {
	if len(v.examples) < maxExamples {
		v.examples = append(v.examples, fmt.Sprintf(format, args...))
	}
}

func (v *verdict) merge(w verdict) {
	v.lost += w.lost
	v.stale += w.stale
	v.doubled += w.doubled
	v.reordered += w.reordered
	v.foreign += w.foreign
	v.appeared += w.appeared
	v.dishonest += w.dishonest
	for _, e := range w.examples {
		v.example("%s", e)
	}
}
