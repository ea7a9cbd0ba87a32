package fsm

import (
	"bytes"
	"crypto/sha256"
	"sort"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// record is a message as the state machine holds it. Records are immutable:
// that one is dead is known from the head and the removed ranges around it, or, once a
// flush has rewritten it as a tombstone, from dead.
type record struct {
	seq  uint64
	time int64
	id   string
	// revision is the session's after the append that brought the message. 0: the
	// message has no id, or comes from before turn.Level1.
	revision uint64
	// data is the payload; of a tombstone it is the payload's digest.
	data []byte
	// original is the digest of what the payload was before it was replaced, if the
	// message has an id; nil: it was not.
	original *[digestSize]byte
	side     turn.Side
	dead     bool
	// borrowed: data belongs to the store's memory map, or to a workspace, and is
	// valid only until the reading ends that it is from.
	borrowed bool
}

// digestSize is the length of what a tombstone keeps of a payload, enough to
// tell a retry from a reused id.
const digestSize = 16

func digest(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:digestSize]
}

// asTombstone returns what must be remembered of a dead record: its id and what
// its payload was.
func (r record) asTombstone() record {
	if !r.dead {
		was := digest(r.data)
		if r.original != nil {
			was = bytes.Clone(r.original[:])
		}
		r.data, r.dead, r.borrowed, r.original = was, true, false, nil
	}
	return r
}

// edited returns the record with another payload. Of a message with an id it remembers
// what the payload was at first: a retry of its append brings that one.
func (r record) edited(data []byte) record {
	if r.id != "" && r.original == nil {
		r.original = (*[digestSize]byte)(digest(r.data))
	}
	r.data = nil
	r = r.copied()
	r.data = data
	return r
}

// copied returns the record in memory of its own. A memtable counts what it holds: an id or
// a payload that is a part of something larger, such as a block, would keep all of that.
func (r record) copied() record {
	r.id, r.data, r.borrowed = strings.Clone(r.id), bytes.Clone(r.data), false
	if r.original != nil {
		original := *r.original
		r.original = &original
	}
	return r
}

// same reports whether two records of one message would be stored the same.
func (r *record) same(o *record) bool {
	return r.dead == o.dead && (r.original == nil) == (o.original == nil) && bytes.Equal(r.data, o.data)
}

// carries reports whether the message was appended with the payload data.
func (r *record) carries(data []byte) bool {
	switch {
	case r.dead:
		return string(r.data) == string(digest(data))
	case r.original != nil:
		return string(r.original[:]) == string(digest(data))
	}
	return string(r.data) == string(data)
}

// message returns the record as callers see it; the payload is copied if it is
// borrowed.
func (r *record) message() turn.Message {
	data := r.data
	if r.borrowed {
		data = append(make([]byte, 0, len(data)), data...)
	}
	return turn.Message{Seq: r.seq, Time: r.time, ID: r.id, Data: data}
}

// indexOf returns the place of the first record with a seq ≥ seq.
func indexOf(rs []record, seq uint64) int {
	return sort.Search(len(rs), func(i int) bool { return rs[i].seq >= seq })
}
