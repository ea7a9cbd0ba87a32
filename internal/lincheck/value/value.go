// Package value is an obvious Redis: what a key of each type holds, and what commands do to it
// and answer. Histories are held against it.
package value

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is what a key holds, or several that belong together. It does not change.
type State interface {
	// Do carries out a command, and returns what is held then and the answer.
	Do(command []string) (State, string)
	// String is the same for equal States only.
	String() string
}

// New returns what there is before the first command, which is one of these.
func New(command []string) State {
	switch {
	case !strings.HasPrefix(command[0], "TURN."):
		return Value{}
	case command[1] == editedKey:
		return Edited{}
	}
	return Sessions{}
}

// Whole are the commands that read all there is, by its type.
func Whole(kind string) [][]string {
	return map[string][][]string{
		"list":   {{"LRANGE", "0", "-1"}},
		"hash":   {{"HGETALL"}},
		"set":    {{"SMEMBERS"}},
		"zset":   {{"ZRANGE", "0", "-1", "WITHSCORES"}},
		"stream": {{"XRANGE", "-", "+"}},
		"string": {{"GET"}},
		"session": {{"TURN.READ", "@0"}, {"TURN.INFO", "@0"}, {"TURN.READ", "@1"}, {"TURN.INFO", "@1"},
			{"TURN.READ", "@2"}, {"TURN.INFO", "@2"}},
		"edited": {{"TURN.READ", editedKey}, {"TURN.INFO", editedKey}},
	}[kind]
}

// Words is the command as a node takes it: its key comes first, or stands where there is an @, with
// a number behind it if there are several.
func Words(command []string, key string) []string {
	words := slices.Clone(command)
	if !strings.HasPrefix(command[0], "TURN.") {
		return slices.Insert(words, 1, key)
	}
	for i, w := range words {
		if number, ok := strings.CutPrefix(w, "@"); ok {
			words[i] = key + ":" + number
		}
	}
	return words
}

// Value is what a key holds: its elements, fields, members or entries in their order, or one
// string. It does not change. The zero Value is that of a key that does not exist.
type Value struct {
	items []item
	// top is the highest id that a stream has had; it may be without entries.
	top int64
}

type item struct {
	name  string // of a field or member
	text  string // of an element, field, entry or string
	score int64  // of a member; of an entry, its id
}

// String is the same for equal values only.
func (v Value) String() string {
	var b strings.Builder
	fmt.Fprint(&b, v.top)
	for _, i := range v.items {
		fmt.Fprintf(&b, " %q=%q@%d", i.name, i.text, i.score)
	}
	return b.String()
}

// exists reports whether there is such a key: only streams stay when they are empty.
func (v Value) exists() bool { return len(v.items) > 0 || v.top > 0 }

// Answers, as Answer gives them.
const (
	none = "nil"
	done = "OK"
)

func number(n int) string         { return strconv.Itoa(n) }
func bulk(text string) string     { return strconv.Quote(text) }
func array(parts []string) string { return "[" + strings.Join(parts, " ") + "]" }
func failed(text string) string   { return "!" + text }

// Do implements State. The command is written without its key.
func (v Value) Do(command []string) (State, string) {
	args := command[1:]
	do := commands[command[0]]
	if do == nil {
		panic("no such command: " + command[0])
	}
	return do(v, args)
}

// commands are what Do knows, by name.
var commands = map[string]func(v Value, args []string) (Value, string){
	"DEL":   del,
	"RPUSH": push(false), "LPUSH": push(true), "LSET": lset, "LREM": lrem, "LINSERT": linsert,
	"LPOP": lpop(false), "RPOP": lpop(true), "LTRIM": ltrim, "LRANGE": lrange, "LINDEX": lindex, "LLEN": size,
	"HSET": hset, "HSETNX": hsetnx, "HDEL": remove, "HINCRBY": hincrby, "HGET": hget, "HGETALL": hgetall, "HLEN": size,
	"SADD": sadd, "SREM": remove, "SISMEMBER": sismember, "SMEMBERS": smembers, "SCARD": size,
	"ZADD": zadd, "ZINCRBY": zincrby, "ZREM": remove, "ZSCORE": zscore, "ZRANK": zrank, "ZRANGE": zrange, "ZCARD": size,
	"XADD": xadd, "XDEL": xdel, "XTRIM": xtrim, "XRANGE": xrange, "XLEN": size,
	"SET": set, "SETNX": setnx, "INCRBY": incrby, "GET": get, "GETDEL": getdel,
}

func del(v Value, _ []string) (Value, string) {
	if v.exists() {
		return Value{}, number(1)
	}
	return v, number(0)
}

func size(v Value, _ []string) (Value, string) { return v, number(len(v.items)) }

// find returns the place of a field or member, -1 if there is none.
func (v Value) find(name string) int {
	return slices.IndexFunc(v.items, func(i item) bool { return i.name == name })
}

// with returns v with an item, in the place of the one of that name, if there is one.
func (v Value) with(it item) Value {
	items := slices.DeleteFunc(slices.Clone(v.items), func(i item) bool { return i.name == it.name })
	items = append(items, it)
	slices.SortFunc(items, func(a,
		b item) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	return Value{items: items, top: v.top}
}

// remove is HDEL, SREM and ZREM.
func remove(v Value, names []string) (Value, string) {
	left := slices.DeleteFunc(slices.Clone(v.items), func(i item) bool { return slices.Contains(names, i.name) })
	return Value{items: left}, number(len(v.items) - len(left))
}

// integer reads an argument that the tester has written.
func integer(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
