package transaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Answers to transactions with an id are kept for turn.TransactionTime, as strings of a namespace of their own.

// recordOf returns the key of the answer to a transaction.
func (s whole) recordOf(o *turn.Tx) turn.Key {
	if s.Meta.Level < turn.Level4 {
		return recordByID(o)
	}
	// A NUL, with which no namespace begins, so that it is the name of no record by id alone.
	return turn.Key{Namespace: layout.TransactionsNamespace, Name: "\x00" + keyedID(o)}
}

// recordByID is recordOf before turn.Level4, when transactions over any keys of a namespace shared their ids.
func recordByID(o *turn.Tx) turn.Key {
	return turn.Key{Namespace: layout.TransactionsNamespace,
		Name: layout.JoinKey(turn.Key{Namespace: o.Namespace(), Name: o.ID})}
}

// keyedID tells a transaction's id, among those of the same keys, from all others. A retry repeats the keys. Who may
// not touch all of them learns nothing of the id, and cannot use it first.
func keyedID(o *turn.Tx) string {
	names := make([]string, 0, len(o.Conditions)+len(o.Steps))
	for _, k := range o.Keys() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	var b []byte
	for _, part := range append([]string{o.Namespace(), o.ID}, slices.Compact(names)...) {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

// digestSize is how much of an answer's record tells which transaction it is of.
const digestSize = 16

// digest tells transactions of one id from each other.
func digest(o *turn.Tx) ([]byte, error) {
	b, err := codec.EncodeOp(o)
	sum := sha256.Sum256(b)
	return sum[:digestSize], err
}

// answered looks for the answer to a transaction that took place before. Those that did before turn.Level4 are found by
// their ids alone, as long as they are known: then no other has their id.
func (s whole) answered(o *turn.Tx, r *turn.Result) (bool, error) {
	if o.ID == "" {
		return false, nil
	}
	known, err := s.answeredAt(s.recordOf(o), o, r)
	if known || err != nil || s.Meta.Level < turn.Level4 {
		return known, err
	}
	return s.answeredAt(recordByID(o), o, r)
}

// answeredAt looks for the answer at a record.
func (s whole) answeredAt(record turn.Key, o *turn.Tx, r *turn.Result) (bool, error) {
	h, err := s.Find(layout.JoinKey(record))
	if h == nil || err != nil {
		return false, err
	}
	e, err := s.Elements(h)
	if err != nil {
		return false, err
	}
	known, _, err := e.Get("")
	if err != nil {
		return false, err
	}
	sum, err := digest(o)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(known, sum) {
		return false, turn.Errorf(turn.IDReused, "the id %q belongs to another transaction", o.ID)
	}
	if *r, err = codec.DecodeResult(known[digestSize:]); err != nil {
		return false, err
	}
	r.Duplicate = true
	return true, nil
}

// remember keeps the answer to a transaction.
func (s whole) remember(o *turn.Tx, r *turn.Result) error {
	if o.ID == "" {
		return nil
	}
	sum, err := digest(o)
	if err != nil {
		return err
	}
	answer, err := codec.EncodeResult(r)
	if err != nil {
		return err
	}
	return values.Apply(s.Keys, &turn.SetString{Key: s.recordOf(o), Value: append(sum, answer...),
		TTL: turn.TransactionTime}, new(turn.Result))
}
