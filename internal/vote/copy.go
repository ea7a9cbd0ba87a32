package vote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/vfs"
)

// voteCopy is the second copy of what raft.db holds. It is a page, written in place and
// synced after each transaction of raft.db, before the value counts as kept: raft.db is whole
// while the page is written, and the page while raft.db is.
//
// It takes the place of a raft.db that is damaged, but never if it may be older: a vote that
// is forgotten can be given twice. Versions that do not know it write raft.db alone. So the
// page has the number of the transaction that it is a copy of, and the roots of raft.db, of
// which one is whole after one flipped bit, tell whether there were later ones. A root that is
// lost may hide one transaction; a vote takes two, one for its term, one for the candidate.
//
// Numbers are little-endian.
//
//	 0  magic "turnvote"
//	 8  version      u32  1
//	12  crc          u32  CRC32C of bytes 0–11 and 16–4095
//	16  transaction  u64
//	24  term         u64
//	32  vote's term  u64
//	40  length       u16  of the candidate, which follows
type voteCopy struct {
	path string
	file *os.File // nil: it cannot be written
	page []byte   // as it is in the file
}

const (
	CopyName        = "vote-copy"
	voteCopyMagic   = "turnvote"
	voteCopyVersion = 1
	voteCopyPage    = 4096
	voteCopyHead    = 42
)

// openVoteCopy opens the copy in dir. A damaged one is like none.
func openVoteCopy(dir string) (*voteCopy, error) {
	c := &voteCopy{path: filepath.Join(dir, CopyName)}
	f, err := os.OpenFile(c.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	page := make([]byte, voteCopyPage)
	n, err := f.ReadAt(page, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("read %s: %w", c.path, err), f.Close())
	}
	c.file = f
	if n < len(page) || string(page[:8]) != voteCopyMagic ||
		binary.LittleEndian.Uint32(page[12:]) != voteCopySum(page) {
		return c, nil
	}
	if v := binary.LittleEndian.Uint32(page[8:]); v > voteCopyVersion {
		return nil, errors.Join(fmt.Errorf("%s has version %d, this turnlog reads version %d: run the newer turnlog",
			c.path, v, voteCopyVersion), f.Close())
	}
	c.page = page
	return c, nil
}

func voteCopySum(page []byte) uint32 {
	return crc32.Update(crc32.Checksum(page[:12], castagnoli), castagnoli, page[16:])
}

// transaction returns the number of the transaction that this is a copy of; 0: it is none.
func (c *voteCopy) transaction() uint64 {
	if c.page == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(c.page[16:])
}

// values returns what it is a copy of.
func (c *voteCopy) values() map[string][]byte {
	term := func(at int) []byte {
		return binary.BigEndian.AppendUint64(nil, binary.LittleEndian.Uint64(c.page[at:]))
	}
	length := int(binary.LittleEndian.Uint16(c.page[40:]))
	return map[string][]byte{
		KeyTerm: term(24), keyVoteTerm: term(32), keyVote: bytes.Clone(c.page[voteCopyHead : voteCopyHead+length]),
	}
}

// keep makes it a copy of values as of a transaction, durably. Of a candidate that is too
// long there is no copy.
func (c *voteCopy) keep(transaction uint64, values map[string][]byte) (err error) {
	page := make([]byte, voteCopyPage)
	if vote := values[keyVote]; len(vote) <= voteCopyPage-voteCopyHead {
		copy(page, voteCopyMagic)
		binary.LittleEndian.PutUint32(page[8:], voteCopyVersion)
		binary.LittleEndian.PutUint64(page[16:], transaction)
		binary.LittleEndian.PutUint64(page[24:], number(values[KeyTerm]))
		binary.LittleEndian.PutUint64(page[32:], number(values[keyVoteTerm]))
		binary.LittleEndian.PutUint16(page[40:], uint16(len(vote)))
		copy(page[voteCopyHead:], vote)
		binary.LittleEndian.PutUint32(page[12:], voteCopySum(page))
	}
	if bytes.Equal(page, c.page) {
		return nil
	}
	isNew := c.file == nil
	if isNew {
		if c.file, err = descriptors.Open(func() (*os.File,
			error) {
			return os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o600)
		}); err != nil {
			return err
		}
	}
	if _, err := c.file.WriteAt(page, 0); err != nil {
		return err
	}
	if err := c.file.Sync(); err != nil {
		return err
	}
	c.page = page
	if isNew {
		return vfs.OS{}.SyncDir(filepath.Dir(c.path))
	}
	return nil
}

// drop removes the copy, durably.
func (c *voteCopy) drop() error {
	err := c.Close()
	c.file, c.page = nil, nil
	if gone := os.Remove(c.path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, vfs.OS{}.SyncDir(filepath.Dir(c.path)))
}

func (c *voteCopy) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// restoreStable makes a new file at path from the copy. Its transaction numbers continue
// those of the copy, so that the copy is not the newer one of the two.
func restoreStable(path string, c *voteCopy) (err error) {
	lock, err := vfs.OS{}.Lock(path) // bbolt's lock, too: no process has it open
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(temp, 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	fresh := &Store{db: db, values: c.values()}
	if err := errors.Join(fresh.sealAll(nil), db.Close()); err != nil {
		return err
	}
	if err := advanceRoots(temp, c.transaction()+2); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(filepath.Dir(path))
}

// A root of a bbolt file: see checkPages.
const (
	rootSize  = 64
	rootMagic = 0xED0CDAED
	rootTx    = 48
	rootSum   = 56
)

// roots visits the roots of a bbolt file that are whole. The second is on the second page,
// the size of which the first one tells, if it can be read: so all sizes are tried.
func roots(f *os.File, visit func(at int64, root []byte) error) error {
	for at := int64(0); at <= 64<<10; at = max(1024, 2*at) {
		b := make([]byte, rootSize)
		n, err := f.ReadAt(b, at+pageHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n < rootSize || binary.NativeEndian.Uint32(b) != rootMagic ||
			rootCheck(b) != binary.NativeEndian.Uint64(b[rootSum:]) {
			continue
		}
		if err := visit(at+pageHeader, b); err != nil {
			return err
		}
	}
	return nil
}

func rootCheck(root []byte) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write(root[:rootSum]) // cannot fail
	return sum.Sum64()
}

// newestRoot returns the number of the last transaction that the roots of the file know of; 0
// if none is whole.
func newestRoot(path string) (transaction uint64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	err = roots(f, func(_ int64, root []byte) error {
		transaction = max(transaction, binary.NativeEndian.Uint64(root[rootTx:]))
		return nil
	})
	return transaction, err
}

// advanceRoots adds at least so many transactions to what a closed file counts. bbolt writes
// the roots in turn, so that the number has to stay even or odd.
func advanceRoots(path string, by uint64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = roots(f, func(at int64, root []byte) error {
		binary.NativeEndian.PutUint64(root[rootTx:], binary.NativeEndian.Uint64(root[rootTx:])+by+by%2)
		binary.NativeEndian.PutUint64(root[rootSum:], rootCheck(root))
		_, err := f.WriteAt(root, at)
		return err
	})
	return errors.Join(err, f.Sync(), f.Close())
}
