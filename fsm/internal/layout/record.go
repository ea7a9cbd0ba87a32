package layout

import (
	"bytes"
	"crypto/sha256"
	"sort"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// Record is a message as the state machine holds it. Records are immutable:
// that one is dead is known from the head and the removed ranges around it, or, once a
// flush has rewritten it as a tombstone, from Dead.
type Record struct {
	Seq  uint64
	Time int64
	ID   string
	// Revision is the session's after the append that brought the message. 0: the
	// message has no id.
	Revision uint64
	// Data is the payload; of a tombstone it is the payload's digest.
	Data []byte
	// Original is the digest of what the payload was before it was replaced, if the
	// message has an id; nil: it was not.
	Original *[DigestSize]byte
	Side     turn.Side
	Dead     bool
	// Inside: when the message came, a call before it waited for its result. To cut the session right before
	// it may part the two.
	Inside bool
	// Told: had a replace brought the message, it or one behind it would tell so in its Notes. Messages with an id are
	// told from turn.Level5 on.
	Told bool
	// Notes are what the message tells of the replace that brought it, nil: nothing.
	Notes *Notes
	// Borrowed: Data belongs to the store's memory map, or to a workspace, and is
	// valid only until the reading ends that it is from.
	Borrowed bool
}

// DigestSize is the length of what a tombstone keeps of a payload, enough to
// tell a retry from a reused id.
const DigestSize = 16

// Digest returns what a tombstone keeps of a payload.
func Digest(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:DigestSize]
}

// AsTombstone returns what must be remembered of a dead record: its id and what
// its payload was.
func (r Record) AsTombstone() Record {
	if !r.Dead {
		was := Digest(r.Data)
		if r.Original != nil {
			was = bytes.Clone(r.Original[:])
		}
		r.Data, r.Dead, r.Inside, r.Borrowed, r.Original = was, true, false, false, nil
	}
	return r
}

// Edited returns the record with another payload. Of a message with an id it remembers
// what the payload was at first: a retry of its append brings that one.
func (r Record) Edited(data []byte) Record {
	if r.ID != "" && r.Original == nil {
		r.Original = (*[DigestSize]byte)(Digest(r.Data))
	}
	r.Data = nil
	r = r.Copied()
	r.Data = data
	return r
}

// Copied returns the record in memory of its own. A memtable counts what it holds: an id or
// a payload that is a part of something larger, such as a block, would keep all of that.
func (r Record) Copied() Record {
	r.ID, r.Data, r.Borrowed = strings.Clone(r.ID), bytes.Clone(r.Data), false
	if r.Original != nil {
		original := *r.Original
		r.Original = &original
	}
	return r
}

// Same reports whether two records of one message would be stored the same.
func (r *Record) Same(o *Record) bool {
	return r.Dead == o.Dead && (r.Original == nil) == (o.Original == nil) && bytes.Equal(r.Data, o.Data)
}

// Carries reports whether the message was appended with the payload data.
func (r *Record) Carries(data []byte) bool {
	switch {
	case r.Dead:
		return string(r.Data) == string(Digest(data))
	case r.Original != nil:
		return string(r.Original[:]) == string(Digest(data))
	}
	return string(r.Data) == string(data)
}

// Message returns the record as callers see it; the payload is copied if it is
// borrowed.
func (r *Record) Message() turn.Message {
	data := r.Data
	if r.Borrowed {
		data = append(make([]byte, 0, len(data)), data...)
	}
	return turn.Message{Seq: r.Seq, Time: r.Time, ID: r.ID, Data: data}
}

// IndexOf returns the place of the first record with a seq ≥ seq.
func IndexOf(rs []Record, seq uint64) int {
	return sort.Search(len(rs), func(i int) bool { return rs[i].Seq >= seq })
}
