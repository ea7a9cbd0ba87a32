package value

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Sessions are three sessions that belong together, under the keys @0, @1 and @2: forks of one
// another, or renamed, with metadata and deadlines that are far away, listed by labels, erased together. It does not
// change.
type Sessions map[string]session

type session struct {
	messages []numbered
	last     int
	meta     map[string]string
	deadline bool
	changed  int // rises from one change of a session to the next
}

// numbered is a message as reads show it.
type numbered struct {
	seq  int
	text string
}

// String is the same for equal Sessions only.
func (s Sessions) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s)) {
		is := s[key]
		fmt.Fprintf(&b, "%s %v %d %s %t;", key, shown(is.messages), is.last, pairs(is.meta), is.deadline)
	}
	// Of the others the order means nothing: what gives a session a label moves it to the front.
	b.WriteString(array(s.latest(func(is session) bool { return strings.Contains(pairs(is.meta), `"label.`) })))
	return b.String()
}

// latest are the keys of some sessions, the one that changed last first.
func (s Sessions) latest(among func(session) bool) (keys []string) {
	for key, is := range s {
		if among(is) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return s[b].changed - s[a].changed })
	return keys
}

// Do implements State.
func (s Sessions) Do(command []string) (State, string) {
	if command[0] == "TURN.ERASE" {
		return Sessions{}, fields("removed", number(len(s)))
	}
	if command[0] == "TURN.LIST" { // PREFIX @ LABEL name value
		label, value := "label."+command[4], command[5]
		found := s.latest(func(is session) bool { v, has := is.meta[label]; return has && v == value })
		return s, fields("sessions", array(found))
	}
	key, args := command[1], command[2:]
	is, exists := s[key]
	switch command[0] {
	case "TURN.READ":
		return s, is.read(args)
	case "TURN.INFO":
		if !exists {
			return s, none
		}
		return s, fields("count", number(len(is.messages)), "expires_at", fmt.Sprint(is.deadline), "last_seq",
			number(is.last), "metadata", pairs(is.meta))
	case "TURN.DELETE":
		next := maps.Clone(s)
		delete(next, key)
		return next, fields("removed", number(len(s)-len(next)))
	case "TURN.FORK":
		return s.fork(is, exists, args)
	case "TURN.RENAME":
		return s.rename(is, exists, key, args)
	case "TURN.APPEND":
		return s.append(is, exists, key, args)
	case "TURN.META":
		return s.with(key, is.described(args)), fields()
	case "TURN.EXPIRE":
		before := is.deadline
		if is.deadline = args[0] == "PX"; !exists || !is.deadline && !before {
			return s, number(0)
		}
		return s.with(key, is), number(1)
	}
	panic("no such command: " + command[0])
}

// read is TURN.READ key [METADATA].
func (is session) read(args []string) string {
	words := []string{"count", number(len(is.messages)), "last_seq", number(is.last), "messages", shown(is.messages)}
	if len(args) > 0 {
		words = append(words, "metadata", pairs(is.meta))
	}
	return fields(words...)
}

// append is TURN.APPEND key [EXISTING] [SET name value | UNSET name] MSG id text.
func (s Sessions) append(is session, exists bool, key string, args []string) (State, string) {
	if args[0] == "EXISTING" {
		if !exists {
			return s, failed("NOT_FOUND")
		}
		args = args[1:]
	}
	if at := slices.Index(args, "MSG"); at > 0 {
		is, args = is.described(args[:at]), args[at:]
	}
	is.last++
	is.messages = append(slices.Clone(is.messages), numbered{is.last, args[2]})
	return s.with(key, is), fields("count", number(len(is.messages)), "duplicate", "0", "first_seq",
		number(is.last), "last_seq", number(is.last))
}

// shown are messages as a read answers them.
func shown(messages []numbered) string {
	var out []string
	for _, m := range messages {
		out = append(out, array([]string{number(m.seq), bulk(m.text)}))
	}
	return array(out)
}

func (s Sessions) with(key string, is session) Sessions {
	next := maps.Clone(s)
	for _, other := range s {
		is.changed = max(is.changed, other.changed+1)
	}
	next[key] = is
	return next
}

// fork is TURN.FORK key to [AT seq].
func (s Sessions) fork(is session, exists bool, args []string) (State, string) {
	at := is.last
	if len(args) == 3 {
		at = integer(args[2])
	}
	if !exists {
		return s, failed("NOT_FOUND")
	}
	if _, there := s[args[0]]; there {
		return s, failed("EXISTS")
	}
	if at > is.last {
		return s, failed("NOT_FOUND")
	}
	// Nothing but a deletion removes messages: the seq tells the place.
	is.messages, is.last, is.deadline = is.messages[:at], at, false
	first := 0
	if at > 0 {
		first = 1
	}
	return s.with(args[0], is), fields("count", number(at), "first_seq", number(first), "last_seq", number(at))
}

// rename is TURN.RENAME key to [REPLACE].
func (s Sessions) rename(is session, exists bool, key string, args []string) (State, string) {
	if !exists {
		return s, failed("NOT_FOUND")
	}
	if _, there := s[args[0]]; there && len(args) == 1 {
		return s, failed("EXISTS")
	}
	next := s.with(args[0], is)
	delete(next, key)
	return next, fields("count", number(len(is.messages)))
}

// described returns the session after SET name value or UNSET name.
func (is session) described(args []string) session {
	meta := maps.Clone(is.meta)
	if args[0] == "UNSET" {
		delete(meta, args[1])
	} else if meta == nil {
		meta = map[string]string{args[1]: args[2]}
	} else {
		meta[args[1]] = args[2]
	}
	is.meta = meta
	return is
}

// fields is an answer with names; pairs is one whose names the clients choose.
func fields(namesAndValues ...string) string { return "{" + strings.Join(namesAndValues, " ") + "}" }

func pairs(m map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		words = append(words, bulk(name), bulk(m[name]))
	}
	return fields(words...)
}
