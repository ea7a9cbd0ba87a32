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

// kinds are the types of values, as Redis calls them.
var kinds = []kind{
	{"list", []string{"LRANGE", "0", "-1"}},
	{"hash", []string{"HGETALL"}},
	{"set", []string{"SMEMBERS"}},
	{"zset", []string{"ZRANGE", "0", "-1", "WITHSCORES"}},
	{"stream", []string{"XRANGE", "-", "+"}},
	{"string", []string{"GET"}},
}

type kind struct {
	name  string
	whole []string // the command that reads all of it
}

// Kind returns the i-th type of all, again and again.
func Kind(i int) string { return kinds[i%len(kinds)].name }

// Whole is the command that reads all that a key of a type holds.
func Whole(name string) []string {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	return kinds[i].whole
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

// Do carries out a command, which is written without its key, and returns what the key holds
// then and the answer.
func (v Value) Do(command []string) (Value, string) {
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
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name)) })
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
