// Package statehash computes the hash of the whole state, by which the states of nodes are compared.
//
// Two nodes that have applied the same entries have the same hash, whatever their files look like: it is the SHA-256 of
// what the state means, and covers neither the layout of blocks nor removed messages that are still on disk. It is
// computed from a read transaction of the store, while entries are applied.
package statehash

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// Of returns a hash of what the state that tx reads means, not how it is laid out: how messages
// fall into blocks, and how long removed ones linger, differs between nodes.
func Of(tx *store.Reading) (string, error) {
	m, _, err := tx.Meta()
	if err != nil {
		return "", err
	}
	s := hasher{h: sha256.New(), tx: tx}
	s.bytes(m.Encode())
	windows := tx.Bucket(layout.BucketMeta).Get(layout.KeyTags)
	if windows != nil { // not a new store
		if windows, err = layout.Dumped(layout.BucketMeta, layout.KeyTags, windows); err != nil {
			return "", err
		}
	}
	s.bytes(windows)
	if err := tx.Bucket(layout.BucketHeads).ForEach(func(k, v []byte) error {
		v, err := layout.Dumped(layout.BucketHeads, k, v)
		if err != nil {
			return err
		}
		s.bytes(k)
		s.bytes(v)
		h, err := memtable.DecodeHead(v)
		if err != nil {
			return err
		}
		if h.Type != turn.TypeList {
			return s.elements(memtable.StoredElements(h, tx))
		}
		v2 := memtable.StoredView(h, tx)
		return s.messages(&v2, h.Remembered())
	}); err != nil {
		return "", err
	}
	if err := tx.Bucket(layout.BucketTombstones).ForEach(func(k, v []byte) error {
		g, err := layout.DecodeTombstone(k, v)
		if err != nil || g.Deadline <= m.Clock {
			return err // forgotten; when it is removed is up to each node
		}
		s.bytes(k)
		s.bytes(g.Encode())
		v2 := memtable.DeletedView(&g, tx)
		return s.messages(&v2, g.Remembered())
	}); err != nil {
		return "", err
	}
	for _, b := range [][]byte{layout.BucketDue, layout.BucketNamespaces} {
		if err := tx.Bucket(b).ForEach(func(k, v []byte) error {
			v, err := layout.Dumped(b, k, v)
			s.bytes(k)
			s.bytes(v)
			return err
		}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(s.h.Sum(nil)[:16]), nil
}

type hasher struct {
	h  hash.Hash
	tx *store.Reading
}

func (s *hasher) uint(v uint64) { _, _ = s.h.Write(binary.BigEndian.AppendUint64(nil, v)) }

func (s *hasher) bytes(b []byte) {
	s.uint(uint64(len(b)))
	_, _ = s.h.Write(b)
}

func (s *hasher) elements(e *memtable.Elements) error {
	return e.Ascend("", func(name string, value []byte) bool {
		s.bytes([]byte(name))
		s.bytes(value)
		return true
	})
}

// messages hashes the live messages of a session, and of the others those whose
// ids are remembered.
func (s *hasher) messages(v *memtable.View, of layout.Remembered) error {
	start := of.WindowStart()
	from := min(start, v.Floor(memtable.AnySide))
	return v.Ascend(from, func(r *layout.Record) bool {
		live := v.Live(r)
		if !live && (r.Seq < start || r.ID == "" || of.Moves.Runs.Has(r.Seq)) {
			return true
		}
		rec := *r
		if !live {
			rec = rec.AsTombstone()
			rec.Time = 0
		}
		s.uint(rec.Seq)
		s.uint(uint64(rec.Time))
		s.uint(uint64(rec.Flags()))
		if rec.Revision != 0 {
			s.uint(rec.Revision)
		}
		s.bytes([]byte(rec.ID))
		s.bytes(rec.Data)
		if rec.Original != nil {
			s.bytes(rec.Original[:])
		}
		if rec.Notes != nil {
			s.bytes(rec.Notes.Append(nil))
		}
		return true
	})
}
