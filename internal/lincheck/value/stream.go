package value

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ids of entries are numbers with -0 behind them.

func entryID(text string) int64 {
	n, _ := strings.CutSuffix(text, "-0")
	return int64(integer(n))
}

// xadd is XADD [MAXLEN n] id field value.
func xadd(v Value, args []string) (Value, string) {
	most := -1
	if args[0] == "MAXLEN" {
		most, args = integer(args[1]), args[2:]
	}
	id := entryID(args[0])
	if id <= v.top {
		return v, failed("ERR The ID specified in XADD is equal or smaller than the target stream top item")
	}
	next := Value{items: append(slices.Clone(v.items), item{score: id, name: args[1], text: args[2]}), top: id}
	if most >= 0 {
		next = next.newest(most)
	}
	return next, bulk(args[0])
}

// newest returns the stream with its n newest entries.
func (v Value) newest(n int) Value {
	return Value{items: v.items[max(0, len(v.items)-n):], top: v.top}
}

func xtrim(v Value, args []string) (Value, string) {
	next := v.newest(integer(args[1]))
	return next, number(len(v.items) - len(next.items))
}

func xdel(v Value, ids []string) (Value, string) {
	left := slices.DeleteFunc(slices.Clone(v.items), func(i item) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return entryID(id) == i.score })
	})
	return Value{items: left, top: v.top}, number(len(v.items) - len(left))
}

// xrange is XRANGE - +.
func xrange(v Value, _ []string) (Value, string) {
	var parts []string
	for _, i := range v.items {
		id := strconv.FormatInt(i.score, 10) + "-0"
		parts = append(parts, fmt.Sprintf("[%s [%s %s]]", bulk(id), bulk(i.name), bulk(i.text)))
	}
	return v, array(parts)
}
