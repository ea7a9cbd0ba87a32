package store

import (
	"bytes"
	"errors"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// GarbageChunk is how many blocks of deleted messages, and elements of deleted
// keys, are removed in one transaction at most.
const GarbageChunk = 20_000

// removalCost is what the removal of one counts for a pacer, in bytes.
const removalCost = 150

// AddGarbage notes what is garbage of inc from cluster time when on.
func (u *Update) AddGarbage(when int64, inc uint64, x layout.Waste) error {
	b := u.Bucket(layout.BucketGarbage)
	key := layout.BlockKey(uint64(when), inc)
	if stored := b.Get(key); stored != nil {
		old, err := layout.DecodeWaste(key, stored)
		if err != nil {
			return err
		}
		x.Below, x.Names = max(x.Below, old.Below), max(x.Names, old.Names)
	}
	return b.PutSealed(key, x.Encode())
}

// Untidy reports whether there is garbage whose time has come, or a file to clean.
func (u *Update) Untidy(clock int64) bool {
	k, _ := u.Bucket(layout.BucketGarbage).Cursor().First()
	if len(k) == layout.BlockKeySize {
		if when, _ := layout.SplitBlockKey(k); int64(when) <= clock {
			return true
		}
	}
	return u.space.untidy()
}

// Tidy removes garbage whose time has come and empties a block file, a bounded amount of both. It
// reports whether there is more.
func (u *Update) Tidy(pacer *Pacer) (more bool, err error) {
	meta, _, err := loadMeta(u.tx)
	if err != nil {
		return false, err
	}
	u.space.giveUpCurrent()
	if err := u.collectGarbage(meta.Clock, pacer); err != nil {
		return false, err
	}
	if err := u.space.clean(); err != nil {
		return false, err
	}
	return u.Untidy(meta.Clock), nil
}

// Empty begins to move what is left in a block file to the one that is appended to.
func (u *Update) Empty(file uint64) error {
	u.space.sweep = sweep{file: file}
	return u.space.sweepOn()
}

// collectGarbage removes blocks and elements whose time has come, a bounded number.
func (u *Update) collectGarbage(clock int64, pacer *Pacer) error {
	b := u.Bucket(layout.BucketGarbage)
	budget := GarbageChunk
	for budget > 0 {
		k, v := b.Cursor().First()
		if k == nil {
			return nil
		}
		k = slices.Clone(k)
		x, err := layout.DecodeWaste(k, v)
		if err != nil {
			return err
		}
		when, inc := layout.SplitBlockKey(k)
		if int64(when) > clock {
			return nil
		}
		n, err := u.removeBlocks(inc, x.Below, budget, pacer)
		if err != nil {
			return err
		}
		if x.Below == layout.MaxSeq || x.Names != "" {
			more, err := u.removeElements(inc, &x, budget-n, pacer)
			if err != nil {
				return err
			}
			n += more
		}
		if budget -= max(n, 1); budget <= 0 && n > 0 {
			break // there may be more of this key
		}
		if x.Tombstone != "" {
			if err := u.Bucket(layout.BucketTombstones).Delete([]byte(x.Tombstone)); err != nil {
				return err
			}
		}
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// removeBlocks removes up to limit blocks of inc that hold only seqs below.
func (u *Update) removeBlocks(inc, below uint64, limit int, pacer *Pacer) (int, error) {
	var keys [][]byte
	if _, _, _, err := u.space.finder.lastUpTo(layout.BlockKey(inc, 0)); err != nil {
		return 0, err
	}
	c := u.space.bucket.Cursor()
	k, v := c.Seek(layout.BlockKey(inc, 0))
	for k != nil && layout.OfIncarnation(k, inc) && len(keys) < limit {
		key, value := slices.Clone(k), v
		_, first := layout.SplitBlockKey(k)
		if first >= below {
			break
		}
		// The next block's key is above all seqs of this one: only the last has to be read.
		k, v = c.Next()
		known := below == layout.MaxSeq
		if k != nil {
			if err := layout.WholePair(layout.BucketBlocks, k, v); err != nil {
				return 0, err
			}
		}
		if k != nil && layout.OfIncarnation(k, inc) {
			_, next := layout.SplitBlockKey(k)
			known = known || next <= below
		}
		if !known {
			rs, err := loadBlock(u.space.files, nil, key, value)
			if err != nil {
				return 0, err
			}
			if rs[len(rs)-1].Seq >= below {
				break
			}
		}
		keys = append(keys, key)
	}
	return removeAll(u.space.remove, keys, pacer)
}

// removeElements removes up to limit elements of inc that are waste. What is of another, or
// none, and looks like these because its key is damaged, can only be the first or the last.
func (u *Update) removeElements(inc uint64, x *layout.Waste, limit int, pacer *Pacer) (int, error) {
	b := u.Bucket(layout.BucketElements)
	var keys [][]byte
	prefix := []byte(layout.ElementKey(inc, ""))
	end := []byte(layout.ElementKey(inc, x.Names))
	var first, last []byte
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) < limit; k, v = c.Next() {
		if x.Below != layout.MaxSeq && bytes.Compare(k, end) >= 0 {
			break
		}
		if last = v; len(keys) == 0 {
			first = v
		}
		keys = append(keys, slices.Clone(k))
	}
	if n := len(keys); n > 0 {
		if err := errors.Join(layout.CheckElement(keys[0], first), layout.CheckElement(keys[n-1], last)); err != nil {
			return 0, err
		}
	}
	return removeAll(b.Delete, keys, pacer)
}

// removeAll deletes keys, but not by a cursor: one that deletes may pass over keys.
func removeAll(remove func([]byte) error, keys [][]byte, pacer *Pacer) (int, error) {
	for _, k := range keys {
		if err := remove(k); err != nil {
			return 0, err
		}
		pacer.Did(removalCost)
	}
	return len(keys), nil
}
