package migrate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// element is what a value consists of: of a string and a list one text, of a set
// the member, of a hash field and value, of a sorted set member and score, of a
// stream the id, fields and values.
type element []string

func (e element) size() (n int) {
	for _, part := range e {
		n += len(part)
	}
	return n
}

// kind is a type of value: the commands that read and write it.
type kind struct {
	name string // as TYPE calls it
	// ordered: pages come in an order that is the value's own, so that a beginning
	// of it can be continued. Of the others, elements have names.
	ordered bool
	length  string // the command for the number of elements, of a string its bytes
	whole   func(key string) []any
	// page reads up to count elements from a position on, "" being the start.
	// Nil: the kind is read whole.
	page func(key, at string, count int) []any
	// parse makes elements of the reply to whole (at and count are zero) or page,
	// and says where the next page is, "" if there is none.
	parse func(reply any, at string, count int) (page []element, next string, err error)
	write func(key string, page []element) []any
	// find looks elements up by their names, findOne a single one, for servers that
	// are too old for find.
	find    func(key string, page []element) []any
	findOne func(key string, e element) []any
}

var (
	stringKind = &kind{name: "string", ordered: true, length: "strlen",
		whole: command("get"), parse: parseString,
		write: func(key string, page []element) []any { return []any{"set", key, page[0][0]} },
	}
	listKind = &kind{name: "list", ordered: true, length: "llen",
		whole: command("lrange", "0", "-1"), page: listPage, parse: parseList, write: flat("rpush"),
	}
	// headListKind is a list that is written from its right end on with LPUSH, so
	// that the left end comes last in commit order.
	headListKind = &kind{name: "list", ordered: true, length: "llen",
		whole: command("lrange", "0", "-1"), page: headListPage, parse: parseHeadList, write: flat("lpush"),
	}
	hashKind = &kind{name: "hash", length: "hlen",
		whole: command("hgetall"), page: scanPage("hscan"), parse: parseGroups(2), write: flat("hset"),
		find: byName("hmget"),
	}
	setKind = &kind{name: "set", length: "scard",
		whole: command("smembers"), page: scanPage("sscan"), parse: parseGroups(1), write: flat("sadd"),
		find: byName("smismember"), findOne: func(key string, e element) []any { return []any{"sismember", key, e[0]} },
	}
	zsetKind = &kind{name: "zset", length: "zcard",
		whole: command("zrange", "0", "-1", "withscores"), page: scanPage("zscan"), parse: parseScores, write: zadd,
		find: byName("zmscore"), findOne: func(key string, e element) []any { return []any{"zscore", key, e[0]} },
	}
	streamKind = &kind{name: "stream", ordered: true, length: "xlen",
		whole: command("xrange", "-", "+"), page: streamPage, parse: parseStream,
	}
)

// kindOf returns the kind for an answer to TYPE, nil if there is none: then it is
// the type of a Redis module.
func kindOf(typ string, newestFirst bool) *kind {
	if newestFirst && typ == listKind.name {
		return headListKind
	}
	for _, k := range []*kind{stringKind, listKind, hashKind, setKind, zsetKind, streamKind} {
		if k.name == typ {
			return k
		}
	}
	return nil
}

func command(name string, rest ...any) func(string) []any {
	return func(key string) []any { return append([]any{name, key}, rest...) }
}

// flat is a command that takes a key and the parts of all elements.
func flat(name string) func(string, []element) []any {
	return func(key string, page []element) []any {
		args := []any{name, key}
		for _, e := range page {
			for _, part := range e {
				args = append(args, part)
			}
		}
		return args
	}
}

// byName is a command that takes a key and the names of elements.
func byName(name string) func(string, []element) []any {
	return func(key string, page []element) []any {
		args := []any{name, key}
		for _, e := range page {
			args = append(args, e[0])
		}
		return args
	}
}

func zadd(key string, page []element) []any {
	args := []any{"zadd", key}
	for _, e := range page {
		args = append(args, e[1], e[0])
	}
	return args
}

// commands returns what writes a page. Only a stream takes a command for each.
func (k *kind) commands(key string, page []element) [][]any {
	if k != streamKind {
		return [][]any{k.write(key, page)}
	}
	var all [][]any
	for _, e := range page {
		args := []any{"xadd", key}
		for _, part := range e {
			args = append(args, part)
		}
		all = append(all, args)
	}
	return all
}

func listPage(key, at string, count int) []any {
	from := number(at)
	return []any{"lrange", key, from, from + count - 1}
}

func headListPage(key, at string, count int) []any {
	from := number(at)
	return []any{"lrange", key, -(from + count), -(from + 1)}
}

func scanPage(name string) func(key, at string, count int) []any {
	return func(key, at string, count int) []any {
		if at == "" {
			at = "0"
		}
		return []any{name, key, at, "count", count}
	}
}

func streamPage(key, at string, count int) []any {
	if at == "" {
		at = "-"
	}
	return []any{"xrange", key, at, "+", "count", count}
}

func number(at string) int {
	n, _ := strconv.Atoi(at) // of our own making; "" is 0
	return n
}

func parseString(reply any, _ string, _ int) ([]element, string, error) {
	text, ok := reply.(string)
	if !ok {
		return nil, "", fmt.Errorf("a string was expected, not %T", reply)
	}
	return []element{{text}}, "", nil
}

func parseList(reply any, at string, count int) ([]element, string, error) {
	page, _, err := parseGroups(1)(reply, "", 0)
	if err != nil || len(page) < count || count == 0 {
		return page, "", err
	}
	return page, strconv.Itoa(number(at) + count), nil
}

func parseHeadList(reply any, at string, count int) ([]element, string, error) {
	page, next, err := parseList(reply, at, count)
	slices.Reverse(page)
	return page, next, err
}

// parseGroups reads elements of n parts each, either alone or, from a SCAN
// command, after a cursor.
func parseGroups(n int) func(reply any, at string, count int) ([]element, string, error) {
	return func(reply any, _ string, count int) ([]element, string, error) {
		parts, ok := reply.([]any)
		next := ""
		if ok && count > 0 && len(parts) == 2 {
			if cursor, isScan := parts[0].(string); isScan {
				if list, isList := parts[1].([]any); isList {
					next, parts = cursor, list
				}
				if next == "0" {
					next = ""
				}
			}
		}
		if !ok || len(parts)%n != 0 {
			return nil, "", fmt.Errorf("a list of elements was expected, not %T", reply)
		}
		page := make([]element, 0, len(parts)/n)
		for group := range slices.Chunk(parts, n) {
			e := make(element, n)
			for i, part := range group {
				if e[i], ok = part.(string); !ok {
					return nil, "", fmt.Errorf("a string was expected, not %T", part)
				}
			}
			page = append(page, e)
		}
		return page, next, nil
	}
}

func parseScores(reply any, at string, count int) ([]element, string, error) {
	page, next, err := parseGroups(2)(reply, at, count)
	for _, e := range page {
		if e[1], err = canonicalScore(e[1]); err != nil {
			return nil, "", err
		}
	}
	return page, next, err
}

// canonicalScore gives each number one text: servers write them differently.
func canonicalScore(text string) (string, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", fmt.Errorf("%q is not a score", text)
	}
	if math.IsInf(f, 0) {
		return strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}

func parseStream(reply any, _ string, count int) ([]element, string, error) {
	entries, ok := reply.([]any)
	if !ok {
		return nil, "", fmt.Errorf("stream entries were expected, not %T", reply)
	}
	var page []element
	for _, entry := range entries {
		pair, ok := entry.([]any)
		if !ok || len(pair) != 2 {
			return nil, "", fmt.Errorf("a stream entry was expected, not %T", entry)
		}
		e, _, err := parseGroups(1)(pair[1], "", 0)
		if err != nil {
			return nil, "", err
		}
		id, _ := pair[0].(string)
		page = append(page, slices.Concat(append([]element{{id}}, e...)...))
	}
	if count == 0 || len(page) < count {
		return page, "", nil
	}
	next, err := idAfter(page[len(page)-1][0])
	return page, next, err
}

// idAfter returns the lowest stream id above id.
func idAfter(id string) (string, error) {
	ms, seq, err := parseID(id)
	switch {
	case err != nil:
		return "", err
	case seq < math.MaxUint64:
		return fmt.Sprintf("%d-%d", ms, seq+1), nil
	case ms < math.MaxUint64:
		return fmt.Sprintf("%d-0", ms+1), nil
	}
	return "", nil // nothing can follow
}

func parseID(id string) (ms, seq uint64, err error) {
	left, right, found := strings.Cut(id, "-")
	if ms, err = strconv.ParseUint(left, 10, 64); err == nil && found {
		seq, err = strconv.ParseUint(right, 10, 64)
	}
	if err != nil || !found {
		return 0, 0, fmt.Errorf("%q is not a stream id", id)
	}
	return ms, seq, nil
}
