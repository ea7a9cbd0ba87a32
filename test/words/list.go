package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// where tells in which text a word is looked for.
type where int

const (
	everywhere where = iota
	names            // identifiers and file names only: in a sentence the word is plain English
	alone            // whole identifiers only
	sentences        // comments, strings and documents only
)

type rule struct {
	instead string
	in      where
}

// replaced maps a replaced word, or phrase, to what is used instead of it. A word also matches its
// regular plural; identifiers are split at capital letters and underscores first.
var replaced = map[string]rule{
	"door":      {"server, API or listener", everywhere},
	"reign":     {"term, or leader", everywhere},
	"ascend":    {"become leader", everywhere},
	"office":    {"leadership", everywhere},
	"heir":      {"transfer target", everywhere},
	"dismiss":   {"step down", everywhere},
	"parcel":    {"batch", everywhere},
	"lent":      {"borrowed", everywhere},
	"lend":      {"borrow", everywhere},
	"fared":     {"outcome or status", everywhere},
	"spells":    {"timings", alone},
	"patience":  {"deadline or timeout, of what it bounds", everywhere},
	"stay":      {"lookup mode, or what ends", alone},
	"beside":    {"parallel, or pipelined", alone},
	"reach":     {"what it is a timeout of, or a scope of", alone},
	"grave":     {"tombstone", everywhere},
	"bury":      {"add a tombstone", everywhere},
	"buried":    {"has a tombstone", everywhere},
	"torment":   {"inject faults", everywhere},
	"storm":     {"fault phase", everywhere},
	"prey":      {"target", everywhere},
	"victim":    {"target", everywhere},
	"whoever":   {"a client that, the node that", everywhere},
	"nobody":    {"no node, no client", everywhere},
	"he":        {"they, it", sentences},
	"his":       {"their, its", sentences},
	"him":       {"them, it", sentences},
	"anew":      {"again", everywhere},
	"by and by": {"gradually", sentences},
	"under way": {"in flight, running", sentences},
	"comprises": {"includes", everywhere},
	"comprise":  {"include", everywhere},
}

// phrases are the entries of several words, with the pattern that finds each.
var phrases = func() map[string]*regexp.Regexp {
	patterns := map[string]*regexp.Regexp{}
	for w := range replaced {
		if words := strings.Fields(w); len(words) > 1 {
			patterns[w] = regexp.MustCompile(`(?i)\b` + strings.Join(words, between) + `\b`)
		}
	}
	return patterns
}()

// between is what stands between two words of a phrase: blanks, or the end of a line with the mark
// by which the next goes on with a comment or a quotation.
const between = `(?:[ \t]+|[ \t]*\r?\n[ \t]*(?:(?://+|#+|\*|>)[ \t]*)?)`

// unfinished are the directories, with all below them, in which the words are still being replaced.
var unfinished = []string{}

// kept are uses that stay, by file or directory: names on disk, and words of a library.
var kept = map[string][]string{
	"fsm":                     {"ascend"}, // a walk upwards through keys, as btree calls it
	"fsm/internal/gaps":       {"ascend"},
	"fsm/internal/memtable":   {"ascend"},
	"fsm/internal/messageids": {"ascend"},
	"fsm/internal/queries":    {"ascend"},
	"fsm/internal/values":     {"ascend"},
	"fsm/internal/sessions":   {"ascend"},
	"fsm/internal/statehash":  {"ascend"},
	"fsm/LAYOUT.md":           {"grave"}, // the name of a bucket
}

func stays(f finding) bool {
	return slices.Contains(kept[f.file], f.word) || slices.Contains(kept[path.Dir(f.file)], f.word)
}

func pending(dir string) bool {
	for _, d := range unfinished {
		if dir == d || strings.HasPrefix(dir, d+"/") {
			return true
		}
	}
	return false
}
