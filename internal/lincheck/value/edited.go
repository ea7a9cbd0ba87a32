package value

import (
	"fmt"
	"maps"
	"slices"
)

// editedKey is the key of an Edited.
const editedKey = "@e"

// Edited is a session under the key @e of which messages are edited and removed, and appends
// repeated: they are known by what they appended. It may keep a number of messages, or of turns, by itself. It
// does not change.
type Edited struct {
	exists   bool
	messages []message
	last     int
	keeps    limit
	turns    []int              // the seqs at which those begin that it keeps
	appended map[string]message // by id, as they were at first
}

// limit is how many messages, or turns, are kept; 0: all.
type limit struct{ messages, turns int }

type message struct {
	seq      int
	id, text string
}

// String is the same for equal Edited only: what was appended follows from what is held and the
// ids that are known.
func (e Edited) String() string {
	return Sessions{editedKey: {messages: e.shown(), last: e.last}}.String() + array(e.known()) +
		fmt.Sprint(e.exists, e.keeps, e.turns)
}

// known are the seqs, ids and first payloads of all appends.
func (e Edited) known() (out []string) {
	for _, id := range slices.Sorted(maps.Keys(e.appended)) {
		m := e.appended[id]
		out = append(out, number(m.seq), bulk(m.id), bulk(m.text))
	}
	return out
}

func (e Edited) shown() (out []numbered) {
	for _, m := range e.messages {
		out = append(out, numbered{m.seq, m.text})
	}
	return out
}

// Do implements State.
func (e Edited) Do(command []string) (State, string) {
	args := command[2:]
	switch command[0] {
	case "TURN.APPEND":
		return e.append(message{e.last + 1, args[1], args[2]})
	case "TURN.EDIT":
		return e.edit(e.find(args), args[2])
	case "TURN.REMOVE":
		return e.remove(e.find(args))
	case "TURN.RETAIN":
		return e.retain(args)
	}
	sessions := Sessions{}
	if e.exists {
		sessions[editedKey] = session{messages: e.shown(), last: e.last}
	}
	_, answer := sessions.Do(command) // a read
	return e, answer
}

// find returns the place of the message that is named by SEQ n or ID id, -1 if it is not held.
func (e Edited) find(args []string) int {
	seq := 0
	if args[0] == "SEQ" {
		seq = integer(args[1])
	} else if was, ok := e.appended[args[1]]; ok {
		seq = was.seq
	}
	return slices.IndexFunc(e.messages, func(m message) bool { return m.seq == seq })
}

func (e Edited) append(m message) (State, string) {
	count, duplicate := len(e.messages)+1, "0"
	if was, ok := e.appended[m.id]; ok {
		if was.text != m.text {
			return e, failed("ID_REUSED")
		}
		m, count, duplicate = was, count-1, "1"
	} else {
		e.exists, e.messages, e.last = true, append(slices.Clone(e.messages), m), m.seq
		e.turns = newest(append(slices.Clone(e.turns), m.seq), e.keeps.turns)
		count -= e.shorten()
		known := map[string]message{m.id: m}
		maps.Copy(known, e.appended)
		e.appended = known
	}
	return e, fields("count", number(count), "duplicate", duplicate, "first_seq", number(m.seq), "last_seq",
		number(m.seq))
}

func (e Edited) edit(at int, text string) (State, string) {
	if at < 0 {
		return e, failed("NOT_FOUND")
	}
	e.messages = slices.Clone(e.messages)
	e.messages[at].text = text
	return e, fields("count", number(len(e.messages)), "seq", number(e.messages[at].seq))
}

func (e Edited) remove(at int) (State, string) {
	removed := 0
	if at >= 0 {
		e.messages, removed = slices.Delete(slices.Clone(e.messages), at, at+1), 1
		// A turn behind the newest message that is left does not count any more.
		e.turns = slices.DeleteFunc(slices.Clone(e.turns), func(seq int) bool {
			return len(e.messages) == 0 || seq > e.messages[len(e.messages)-1].seq
		})
	}
	return e, fields("count", number(len(e.messages)), "removed", number(removed))
}

// retain is TURN.RETAIN key MESSAGES n|TURNS n|ALL.
func (e Edited) retain(args []string) (State, string) {
	var keeps limit
	switch args[0] {
	case "MESSAGES":
		keeps.messages = integer(args[1])
	case "TURNS":
		keeps.turns = integer(args[1])
	}
	removed := 0
	if keeps != e.keeps {
		e.exists, e.keeps, e.turns = true, keeps, newest(e.begun(), keeps.turns)
		removed = e.shorten()
	}
	return e, fields("count", number(len(e.messages)), "removed", number(removed))
}

// begun are the seqs at which turns begin. A message that is held and older than those known is a turn.
func (e Edited) begun() (seqs []int) {
	for _, m := range e.messages {
		if len(e.turns) == 0 || m.seq < e.turns[0] {
			seqs = append(seqs, m.seq)
		}
	}
	return append(seqs, e.turns...)
}

// newest are the last n of some seqs.
func newest(seqs []int, n int) []int { return seqs[max(0, len(seqs)-n):] }

// shorten drops what is beyond the messages, or turns, that the session keeps.
func (e *Edited) shorten() (dropped int) {
	switch {
	case e.keeps.messages > 0:
		dropped = max(0, len(e.messages)-e.keeps.messages)
	case e.keeps.turns > 0 && len(e.turns) == e.keeps.turns:
		dropped = max(0, slices.IndexFunc(e.messages, func(m message) bool { return m.seq >= e.turns[0] }))
	}
	e.messages = e.messages[dropped:]
	return dropped
}
