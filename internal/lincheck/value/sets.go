package value

import (
	"maps"
	"slices"
	"strings"
)

// Sets are three sets of Redis that belong together, under the keys @0, @1 and @2: combined into one another, and
// renamed. It does not change.
type Sets map[string][]string

// String is the same for equal Sets only.
func (s Sets) String() string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		words = append(words, key, s.shown(key))
	}
	return array(words)
}

func (s Sets) shown(key string) string { return array(quotedAll(s[key])) }

func quotedAll(members []string) (out []string) {
	for _, m := range members {
		out = append(out, bulk(m))
	}
	return out
}

// Do implements State.
func (s Sets) Do(command []string) (State, string) {
	name, key, args := command[0], command[1], command[2:]
	switch name {
	case "SADD":
		return s.changed(key, union(s[key], args))
	case "SREM":
		return s.changed(key, without(s[key], args))
	case "DEL":
		_, existed := s[key]
		return s.with(key, nil), truth(existed)
	case "RENAME", "RENAMENX":
		return s.rename(name, key, args[0])
	case "SMEMBERS":
		return s, s.shown(key)
	case "SCARD":
		return s, number(len(s[key]))
	case "SINTERCARD": // 2 key key
		return s, number(len(s.combined("SINTER", args)))
	case "SINTER", "SUNION", "SDIFF":
		return s, array(quotedAll(s.combined(name, command[1:])))
	}
	found := s.combined(strings.TrimSuffix(name, "STORE"), args)
	return s.with(key, found), number(len(found))
}

// combined are the members of what two keys make.
func (s Sets) combined(name string, keys []string) []string {
	a, b := s[keys[0]], s[keys[1]]
	switch name {
	case "SUNION":
		return union(a, b)
	case "SDIFF":
		return without(a, b)
	}
	return without(a, without(a, b))
}

// changed is with, and the answer of how many members came or went.
func (s Sets) changed(key string, members []string) (State, string) {
	before, after := len(s[key]), len(members)
	return s.with(key, members), number(max(before-after, after-before))
}

// with returns s with another set under a key; a set without members is none.
func (s Sets) with(key string, members []string) Sets {
	next := Sets{}
	maps.Copy(next, s)
	delete(next, key)
	if len(members) > 0 {
		next[key] = members
	}
	return next
}

func (s Sets) rename(name, key, to string) (State, string) {
	if _, exists := s[key]; !exists {
		return s, failed("ERR no such key")
	}
	next := s.with(to, s[key]).with(key, nil)
	if name == "RENAME" {
		return next, "OK"
	}
	if _, taken := s[to]; taken {
		return s, number(0)
	}
	return next, number(1)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(m string) bool { return slices.Contains(b, m) })
}

func truth(is bool) string {
	if is {
		return number(1)
	}
	return number(0)
}
