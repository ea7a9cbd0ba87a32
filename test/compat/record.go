package main

import (
	"slices"
	"strings"
	"sync"
)

// record is what a driver said that it did and saw. It is safe for concurrent use
// until its driver has ended.
type record struct {
	versions map[string]string // package → version

	mu            sync.Mutex
	conversations map[string]*conversation
	order         []string // their names, as they began
	took          []float64
	errors        map[string]int // what the application was told → how often
	unreadable    []string       // what went wrong with the final reads
}

// conversation is what one writer, one message after the other, has done.
type conversation struct {
	name  string
	adds  []add
	reads []view
	final *view
}

// add is a call that appends message number n.
type add struct {
	n       int
	acked   bool
	refused bool // the error says that nothing was stored
}

// refusal is in every error of a node that promises so.
const refusal = "nothing was changed"

// view is a history as the library showed it, after so many adds.
type view struct {
	after int
	texts []string
}

func newRecord() *record {
	return &record{conversations: map[string]*conversation{}, errors: map[string]int{}}
}

// take notes a line.
func (r *record) take(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.Error != "" {
		r.errors[l.Error]++
	}
	switch {
	case l.Add != "":
		c := r.conversation(l.Add)
		c.adds = append(c.adds, add{n: l.N, acked: l.Error == "", refused: strings.Contains(l.Error, refusal)})
		r.took = append(r.took, l.Took)
	case l.Read != "" && l.Error == "":
		c := r.conversation(l.Read)
		c.reads = append(c.reads, view{after: len(c.adds), texts: l.Seen})
	case l.Final != "" && l.Error == "":
		c := r.conversation(l.Final)
		c.final = &view{after: len(c.adds), texts: l.Seen}
	case l.Final != "":
		r.unreadable = append(r.unreadable, l.Final+": "+l.Error)
	}
}

func (r *record) conversation(name string) *conversation {
	c := r.conversations[name]
	if c == nil {
		c = &conversation{name: name}
		r.conversations[name] = c
		r.order = append(r.order, name)
	}
	return c
}

// names of the conversations to which something was appended.
func (r *record) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}
