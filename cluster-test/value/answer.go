package value

import (
	"slices"
	"strconv"

	"github.com/turnlog/turnlog/resp"
)

// Answer is what a node has answered to a command, in the words of Do. Where the order of an
// answer means nothing, it is that of the names.
func Answer(command string, v resp.Value) string {
	switch command {
	case "HGETALL":
		v.Elems = sorted(v.Elems, 2)
	case "SMEMBERS":
		v.Elems = sorted(v.Elems, 1)
	}
	return say(v)
}

func say(v resp.Value) string {
	if err := v.Err(); err != nil {
		return failed(err.Error())
	}
	switch v.Kind {
	case resp.Null:
		return none
	case resp.Integer:
		return strconv.FormatInt(v.Int, 10)
	case resp.SimpleString:
		return string(v.Str)
	case resp.Array:
		parts := make([]string, len(v.Elems))
		for i := range v.Elems {
			parts[i] = say(v.Elems[i])
		}
		return array(parts)
	}
	return bulk(string(v.Str))
}

// sorted sorts groups of so many values by the first of each.
func sorted(vs []resp.Value, size int) []resp.Value {
	groups := slices.Collect(slices.Chunk(vs, size))
	slices.SortFunc(groups, func(a, b []resp.Value) int { return slices.Compare(a[0].Str, b[0].Str) })
	return slices.Concat(groups...)
}
