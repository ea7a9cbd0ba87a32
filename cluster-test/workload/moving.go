package workload

import (
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
)

// moving makes up transactions that put items into three sessions, move them and rewrite them. What depends on the
// state is on condition of what a snapshot showed. No item is ever lost.
func moving(w *worker, s *Session) history.Call {
	if w.rand.IntN(8) == 0 {
		for range repeatable {
			if len(w.repeats) == 0 {
				break
			}
			if r := w.repeats[w.rand.IntN(len(w.repeats))]; r.session == s {
				return r.call
			}
		}
	}
	places := s.seen(w.rand.IntN(6) == 0) // mostly, what was seen is used once
	if places == nil && w.rand.IntN(4) > 0 {
		return history.Call{Func: history.Ask, Command: []string{value.Snapshot}}
	}
	p := &mover{w: w, places: places}
	p.ID = w.run.token()
	for i, k := range w.rand.Perm(len(value.MovedKeys)) {
		p.keys[i] = k
	}
	p.plan()
	c := history.Call{Func: history.Do, IDs: true, Command: p.Words()}
	w.repeats = append(w.repeats, repeat{s, c})
	w.repeats = w.repeats[max(0, len(w.repeats)-repeatable):]
	return c
}

// mover makes up one transaction. It takes items out of the session under the first of its keys.
type mover struct {
	value.Transaction
	w      *worker
	places []history.Place // nil: not known
	keys   [3]int
}

// mostItems is how many items the three sessions have, about.
const mostItems = 10

// plan adds the conditions and steps.
func (p *mover) plan() {
	total := 0
	for i := range p.places {
		total += len(p.places[i].Messages)
	}
	from := p.keys[0]
	if total == 0 || total < mostItems && p.w.rand.IntN(4) == 0 {
		p.put(p.keys[0])
		if p.w.rand.IntN(2) == 0 {
			p.put(p.keys[1])
		}
		return
	}
	for len(p.places[from].Messages) == 0 {
		p.keys[0], p.keys[1], p.keys[2] = p.keys[1], p.keys[2], p.keys[0]
		from = p.keys[0]
	}
	p.conditions()
	kinds := []func(){p.pop, p.pop, p.remove, p.edit, p.replace, p.retain, p.rename, p.rename, p.empty}
	kinds[p.w.rand.IntN(len(kinds))]()
}

// conditions demands that the first session is as it was seen, and something of the others.
func (p *mover) conditions() {
	p.require(p.keys[0], "REVISION", p.places[p.keys[0]].Revision)
	for _, i := range p.keys[1:] {
		other := p.places[i]
		switch kind := p.w.rand.IntN(6); {
		case kind == 0:
			p.require(i, "SEQ", other.Last)
		case kind == 1 && other.Revision == 0:
			p.require(i, "ABSENT", 0)
		case kind == 1:
			p.require(i, "EXISTS", 0)
		}
	}
}

func (p *mover) require(i int, is string, n uint64) {
	p.Conditions = append(p.Conditions, value.Condition{Key: value.MovedKeys[i], Is: is, N: n})
}

func (p *mover) step(name string, i int, args ...string) {
	p.Steps = append(p.Steps, value.Step{Name: name, Key: value.MovedKeys[i], Args: args})
}

// put puts a new item into a session.
func (p *mover) put(i int) { p.step("TURN.APPEND", i, p.w.run.token()) }

// give appends items that another step takes out of the first session.
func (p *mover) give(i int, ms ...history.Message) {
	var texts []string
	for _, m := range ms {
		texts = append(texts, m.Value)
	}
	p.step("TURN.APPEND", i, texts...)
}

func (p *mover) held() []history.Message { return p.places[p.keys[0]].Messages }

// some is a number from 1 to n, mostly small.
func (p *mover) some(n int) int { return 1 + p.w.rand.IntN(min(n, 3)) }

func (p *mover) pop() {
	ms := p.held()
	n := p.some(len(ms))
	side, popped := "HEAD", ms[:n]
	if p.w.rand.IntN(2) == 0 {
		side, popped = "NEWEST", ms[len(ms)-n:]
	}
	p.step("TURN.POP", p.keys[0], strconv.Itoa(n), side)
	p.give(p.keys[1], popped...)
}

func (p *mover) remove() {
	ms := p.held()
	at := p.w.rand.IntN(len(ms))
	if other := p.w.rand.IntN(len(ms)); other != at {
		p.rewrite(p.keys[0], ms[other])
	}
	p.step("TURN.REMOVE", p.keys[0], number(ms[at].Seq))
	p.give(p.keys[1], ms[at])
}

// edit rewrites an item, perhaps one of another session as well, and puts a new one behind it.
func (p *mover) edit() {
	ms := p.held()
	p.rewrite(p.keys[0], ms[p.w.rand.IntN(len(ms))])
	if other := p.places[p.keys[1]]; len(other.Messages) > 0 {
		p.require(p.keys[1], "REVISION", other.Revision)
		p.rewrite(p.keys[1], other.Messages[0])
	}
	p.put(p.keys[p.w.rand.IntN(3)])
}

func (p *mover) rewrite(i int, m history.Message) {
	p.step("TURN.EDIT", i, number(m.Seq), rewritten(m.Value))
}

// replace rewrites the newest items, of which the last goes to another session.
func (p *mover) replace() {
	ms := p.held()
	suffix := ms[len(ms)-p.some(len(ms)):]
	args := []string{number(suffix[0].Seq)}
	for _, m := range suffix[:len(suffix)-1] {
		args = append(args, rewritten(m.Value))
	}
	p.step("TURN.REPLACE", p.keys[0], args...)
	p.give(p.keys[1], suffix[len(suffix)-1])
}

// retain has a session shorten itself, and then keep everything again.
func (p *mover) retain() {
	ms := p.held()
	if len(ms) == 1 {
		p.pop()
		return
	}
	p.step("TURN.RETAIN", p.keys[0], strconv.Itoa(len(ms)-1))
	p.give(p.keys[1], ms[0])
	p.step("TURN.RETAIN", p.keys[0], "0")
}

// rename moves a session to another key; what was there goes to the third.
func (p *mover) rename() {
	to := p.places[p.keys[1]]
	p.require(p.keys[1], "REVISION", to.Revision)
	args := []string{value.MovedKeys[p.keys[1]]}
	if to.Revision != 0 {
		args = append(args, "REPLACE")
	}
	p.step("TURN.RENAME", p.keys[0], args...)
	if len(to.Messages) > 0 {
		p.give(p.keys[2], to.Messages...)
	} else {
		p.put(p.keys[2])
	}
}

// empty moves all items of a session and deletes it.
func (p *mover) empty() {
	p.step("TURN.DELETE", p.keys[0])
	p.give(p.keys[1], p.held()...)
}

// rewritten is an item at its next version.
func rewritten(text string) string {
	name, version, _ := strings.Cut(text, "#")
	n, _ := strconv.Atoi(version)
	return name + "#" + strconv.Itoa(n+1)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }
