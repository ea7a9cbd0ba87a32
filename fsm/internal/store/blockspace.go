package store

import (
	"encoding/binary"
	"iter"
	"maps"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/blockcache"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

const (
	// sparse is the share of a block file, at most, that is referred to when the file is
	// emptied, by moving what is left to the file that is written to. The other is that
	// on a disk that is short of space.
	sparse, sparseWhenShort = 1.0 / 3, 3.0 / 4
	// sweepBytes is how much of a file, roughly, one flush looks through to empty it.
	sweepBytes = 16 << 20
)

// use is how many bytes of a block file count, and how many of those the store
// refers to.
type use struct{ extent, live int64 }

// uses are those of all block files, by number.
type uses map[uint64]use

func loadUses(tx *bbolt.Tx) (uses, error) {
	account := tx.Bucket(layout.BucketFiles)
	if err := checkAccount(account, tx.Bucket(layout.BucketSums)); err != nil {
		return nil, err
	}
	u := make(uses)
	err := account.ForEach(func(k, v []byte) error {
		r := layout.NewReader(v)
		u[binary.BigEndian.Uint64(k)] = use{int64(r.Uint()), int64(r.Uint())}
		return r.End("use of a block file")
	})
	return u, err
}

// sealAccount puts a checksum over the whole account, which is short, beside it.
func sealAccount(account, sums pairs) error {
	all, err := wholeAccount(account)
	if err != nil {
		return err
	}
	return sums.Put(layout.KeyFiles, layout.Seal(layout.KeyFiles, all)[:layout.SealSize])
}

// checkAccount holds the account against its checksum. A new store has neither.
func checkAccount(account, sums *bbolt.Bucket) error {
	all, err := wholeAccount(account)
	if err != nil {
		return err
	}
	sum := sums.Get(layout.KeyFiles)
	if sum == nil && len(all) == 0 {
		return nil
	}
	_, err = layout.Unseal(layout.KeyFiles, slices.Concat(sum, all), "account of the block files")
	return err
}

func wholeAccount(account pairs) (all []byte, err error) {
	err = account.ForEach(func(k, v []byte) error {
		all = append(append(all, k...), v...)
		return nil
	})
	return all, err
}

func (u uses) extents() blockfile.Extents {
	e := make(blockfile.Extents, len(u))
	for n, use := range u {
		e[n] = use.extent
	}
	return e
}

func (u uses) refer(ref blockfile.Ref, sign int64) {
	use := u[ref.File]
	use.live += sign * ref.Size()
	u[ref.File] = use
}

// worth says which files are worth emptying: those of which a share, and so many bytes,
// are referred to at most, and so many bytes are not; the one that is appended to, or not.
type worth struct {
	share         float64
	live, garbage int64
	current       bool
}

// worthNow returns which files are worth emptying. On a disk that is short of space what is
// moved takes three quarters of what is left at most: it is there twice until the file is empty. If
// emptied files are kept for readers, there is nothing to be gained soon.
func (s *Store) worthNow() worth {
	if s.short.Load() && !s.files.Pinned() {
		return worth{sparseWhenShort, s.left.Load() / 4 * 3, s.files.FileBytes() / 16, true}
	}
	return worth{sparse, math.MaxInt64, 0, false}
}

// sparsest returns the file most worth emptying of those below a number; 0 if none is.
func (u uses) sparsest(below uint64, w worth) (file uint64) {
	for _, n := range slices.Sorted(maps.Keys(u)) {
		if share := float64(u[n].live) / float64(u[n].extent); n < below && share <= w.share && u[n].live <= w.live &&
			u[n].extent-u[n].live >= w.garbage {
			file, w.share = n, share
		}
	}
	return file
}

// sweep is how far a file has been looked through that is being emptied.
type sweep struct {
	file uint64
	next int64
}

// blockSpace puts blocks into files and their references into the store, and keeps
// account of what is referred to.
type blockSpace struct {
	bucket pairs
	finder finder // in bucket
	files  *blockfile.Set
	cache  *blockcache.Cache // of what is read elsewhere
	uses   uses
	sweep  sweep
	worth  worth
	// full: files below it are not appended to.
	full  uint64
	moved int64 // bytes that were taken to other files
}

func newBlockSpace(files *blockfile.Set, cache *blockcache.Cache, u uses, s sweep, w worth) blockSpace {
	mine := make(uses)
	maps.Copy(mine, u)
	return blockSpace{files: files, cache: cache, uses: mine, sweep: s, worth: w, full: files.Current()}
}

// worthGivingUp reports whether the file that is appended to is the one most worth emptying.
func (s *blockSpace) worthGivingUp() bool {
	n := s.files.Current()
	return n != 0 && s.worth.current && s.uses.sparsest(n+1, s.worth) == n
}

// giveUpCurrent has blocks appended to another file from now on, if the current one is worth
// emptying, and there is space for another. Nothing was appended since the last commit.
func (s *blockSpace) giveUpCurrent() {
	if !s.worthGivingUp() {
		return
	}
	if s.files.Begin() != nil {
		s.worth.current = false // it is tried again at the next flush
		return
	}
	s.full = s.files.Current()
}

// sweeping reports whether a file is being emptied. It may not be the current one, as it is
// again if the transaction that had given it up failed.
func (s *blockSpace) sweeping() bool {
	_, there := s.uses[s.sweep.file]
	return there && s.sweep.file < s.full
}

// begin has blocks put into the bucket of a transaction.
func (s *blockSpace) begin(bucket pairs) {
	if s.bucket != bucket {
		s.bucket, s.finder = bucket, newFinder(bucket)
	}
}

// put stores a block, which it copies, under a key, in place of what is there.
func (s *blockSpace) put(key, block []byte) error {
	if err := s.release(key); err != nil {
		return err
	}
	ref, err := s.files.Append(key, block)
	if err != nil {
		return err
	}
	s.uses.refer(ref, 1)
	return s.bucket.Put(key, layout.EncodeRef(key, ref))
}

func (s *blockSpace) remove(key []byte) error {
	if err := s.release(key); err != nil {
		return err
	}
	s.finder.removed(key)
	return s.bucket.Delete(key)
}

func (s *blockSpace) release(key []byte) error {
	old := s.finder.get(key)
	if old == nil {
		return nil
	}
	ref, err := layout.DecodeRef(key, old)
	if err != nil {
		return err
	}
	s.uses.refer(ref, -1)
	s.cache.Drop(ref)
	return nil
}

// untidy reports whether there is a file to clean.
func (s *blockSpace) untidy() bool {
	return s.sweeping() || s.worthGivingUp() || s.uses.sparsest(s.full, s.worth) != 0
}

// clean moves what is left in a sparse file to the current one, a bounded amount.
func (s *blockSpace) clean() error {
	if !s.sweeping() {
		s.sweep = sweep{file: s.uses.sparsest(s.full, s.worth)}
	}
	if s.sweep.file == 0 {
		return nil
	}
	return s.sweepOn()
}

// sweepOn looks through some more of the file that is being emptied.
func (s *blockSpace) sweepOn() (err error) {
	extent := s.uses[s.sweep.file].extent
	limit := s.sweep.next + sweepBytes
	s.sweep.next, err = s.files.Walk(s.sweep.file, s.sweep.next, extent,
		func(key []byte, ref blockfile.Ref) (bool, error) {
			return ref.Offset < limit, s.move(key, ref)
		})
	if err == nil && s.sweep.next >= extent {
		delete(s.uses, s.sweep.file) // nothing refers to it, whatever the account says
	}
	return err
}

// move puts a block elsewhere if the store refers to it there.
func (s *blockSpace) move(key []byte, there blockfile.Ref) error {
	_, k, v, err := s.finder.lastUpTo(key)
	if err != nil || string(k) != string(key) {
		return err
	}
	ref, err := layout.DecodeRef(key, v)
	if err != nil || ref != there {
		return err
	}
	block, err := readBlob(s.files, nil, key, ref)
	if err == nil {
		err = layout.CheckBlock(key, block)
	}
	if err != nil {
		return err
	}
	s.moved += there.Size()
	return s.put(slices.Clone(key), block)
}

// save syncs the files and puts the account into the store. It returns the files
// that nothing refers to any more, which can go once the store has committed.
func (s *blockSpace) save(account, sums pairs, before uses) (unused []uint64, err error) {
	grown, err := s.files.Sync()
	if err != nil {
		return nil, err
	}
	for n, extent := range grown {
		u := s.uses[n]
		u.extent = extent
		s.uses[n] = u
	}
	current := s.files.Current()
	maps.DeleteFunc(s.uses, func(n uint64, u use) bool { return u.live <= 0 && n != current })
	for n, u := range s.uses {
		if u == before[n] {
			continue
		}
		v := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(u.extent)), uint64(max(u.live, 0)))
		if err := account.Put(fileKey(n), v); err != nil {
			return nil, err
		}
	}
	for _, gone := range []iter.Seq[uint64]{maps.Keys(before), maps.Keys(grown)} {
		for n := range gone {
			if _, used := s.uses[n]; used || n == current || slices.Contains(unused, n) {
				continue
			}
			unused = append(unused, n)
			if err := account.Delete(fileKey(n)); err != nil {
				return nil, err
			}
		}
	}
	return unused, sealAccount(account, sums)
}

func fileKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
