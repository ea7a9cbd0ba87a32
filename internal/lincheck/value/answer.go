package value

import (
	"slices"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
)

// Answer is what a node has answered to a command, in the words of Do. Where the order of an
// answer means nothing, it is that of the names.
func Answer(command string, v resp.Value) string {
	switch command {
	case "HGETALL":
		v.Elems = sorted(v.Elems, 2)
	case "SMEMBERS", "SINTER", "SUNION", "SDIFF":
		v.Elems = sorted(v.Elems, 1)
	}
	if err := v.Err(); err != nil && strings.HasPrefix(command, "TURN.") {
		code, _, _ := strings.Cut(err.Error(), " ")
		return failed(code)
	}
	if strings.HasPrefix(command, "TURN.") && v.Kind == resp.Array {
		return named(v)
	}
	return say(v)
}

// told are the fields of answers that Sessions knows.
var told = []string{"count", "duplicate", "expires_at", "first_seq", "last_seq", "messages", "metadata", "removed",
	"seq", "sessions"}

// named is an answer with fields, those of them that depend on nothing but the commands.
func named(v resp.Value) string {
	var words []string
	reads := slices.ContainsFunc(v.Elems, func(e resp.Value) bool { return string(e.Str) == "incarnation" })
	for field := range slices.Chunk(sorted(v.Elems, 2), 2) {
		name, value := string(field[0].Str), field[1]
		switch {
		case !slices.Contains(told, name) || reads && name == "first_seq":
			continue
		case name == "expires_at":
			words = append(words, name, strconv.FormatBool(value.Int != 0))
		case name == "metadata":
			words = append(words, name, fields(quoted(sorted(value.Elems, 2))...))
		case name == "messages":
			words = append(words, name, messages(value.Elems))
		case name == "sessions":
			words = append(words, name, array(listed(value.Elems)))
		default:
			words = append(words, name, say(value))
		}
	}
	return fields(words...)
}

// listed are the keys of sessions, as Words takes them.
func listed(sessions []resp.Value) (keys []string) {
	for _, s := range sessions {
		key, _ := s.Field("key")
		_, number, _ := strings.Cut(string(key.Str), ":")
		keys = append(keys, "@"+number)
	}
	return keys
}

func quoted(vs []resp.Value) (out []string) {
	for _, v := range vs {
		out = append(out, bulk(string(v.Str)))
	}
	return out
}

// messages are the seqs and payloads of [seq, time, id, payload].
func messages(vs []resp.Value) string {
	var out []string
	for _, m := range vs {
		if len(m.Elems) != 4 {
			return failed("a message of another form")
		}
		out = append(out, array([]string{say(m.Elems[0]), say(m.Elems[3])}))
	}
	return array(out)
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
