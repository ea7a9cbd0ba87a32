package vote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// record is what a node must not forget.
type record struct {
	sequence  uint64 // of the change that it is from; 0: there was none
	term      uint64 // that the node is in
	voteTerm  uint64 // in which it voted last
	candidate []byte // for which it voted then; empty: for none
}

// A record is stored as a page. Numbers are little-endian.
//
//	 0  magic "turnvote"
//	 8  version      u32  1
//	12  crc          u32  CRC32C of bytes 0–11 and 16–4095
//	16  sequence     u64
//	24  term         u64
//	32  vote's term  u64
//	40  length       u16  of the candidate, which follows; then zeros
const (
	pageMagic   = "turnvote"
	pageVersion = 1
	pageSize    = 4096
	pageHead    = 42
	// maxCandidate is the length of the longest candidate that there is room for.
	maxCandidate = pageSize - pageHead
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *record) encode() []byte {
	b := make([]byte, pageSize)
	copy(b, pageMagic)
	binary.LittleEndian.PutUint32(b[8:], pageVersion)
	binary.LittleEndian.PutUint64(b[16:], r.sequence)
	binary.LittleEndian.PutUint64(b[24:], r.term)
	binary.LittleEndian.PutUint64(b[32:], r.voteTerm)
	binary.LittleEndian.PutUint16(b[40:], uint16(len(r.candidate)))
	copy(b[pageHead:], r.candidate)
	binary.LittleEndian.PutUint32(b[12:], pageSum(b))
	return b
}

func pageSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:])
}

// decode reads a page. Its errors are of kind turn.Corrupt, or turn.Newer.
func decode(b []byte) (*record, error) {
	switch {
	case len(b) != pageSize:
		return nil, turn.Errorf(turn.Corrupt, "it has %d bytes, not %d", len(b), pageSize)
	case binary.LittleEndian.Uint32(b[12:]) != pageSum(b):
		return nil, turn.Errorf(turn.Corrupt, "it fails its checksum")
	case string(b[:8]) != pageMagic:
		return nil, turn.Errorf(turn.Corrupt, "it is another file")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != pageVersion {
		return nil, turn.Errorf(turn.Newer, "it has version %d, this turnlog reads version %d: run the newer turnlog",
			v, pageVersion)
	}
	length := int(binary.LittleEndian.Uint16(b[40:]))
	if length > maxCandidate {
		return nil, turn.Errorf(turn.Corrupt, "it has a candidate of %d bytes", length)
	}
	return &record{
		sequence: binary.LittleEndian.Uint64(b[16:]), term: binary.LittleEndian.Uint64(b[24:]),
		voteTerm: binary.LittleEndian.Uint64(b[32:]), candidate: bytes.Clone(b[pageHead : pageHead+length]),
	}, nil
}

// pageFile is a file that holds a record, or is to.
type pageFile struct {
	disk vfs.FS
	path string
	file vfs.File // nil: it is made by the next write
	page []byte   // as it is in the file, durably; nil: not known
}

// read returns what the file holds. A missing one is fs.ErrNotExist, and a damaged one, or one in a
// bad sector, of kind turn.Corrupt: hold makes it again. One of the right size is written in place,
// which needs no room on a full disk.
func (f *pageFile) read() (*record, error) {
	file, err := f.disk.Open(f.path)
	if err != nil {
		return nil, err
	}
	b := make([]byte, pageSize+1)
	n, err := file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		if errors.Is(err, syscall.EIO) {
			err = turn.Errorf(turn.Corrupt, "%v", err)
		}
		return nil, errors.Join(fmt.Errorf("read %s: %w", f.path, err), file.Close())
	}
	r, err := decode(b[:n])
	if err != nil {
		err = fmt.Errorf("%s: %w", f.path, err)
	}
	if n != pageSize {
		return nil, errors.Join(err, file.Close())
	}
	f.file = file
	return r, err
}

// hold has the file hold a page, durably; one that it was given last is there. If it fails, the file may
// be damaged, or hold another.
func (f *pageFile) hold(page []byte) (err error) {
	if bytes.Equal(f.page, page) {
		return nil
	}
	f.page = nil
	if f.file == nil {
		err = f.create(page)
	} else if _, err = f.file.WriteAt(page, 0); err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	f.page = page
	return nil
}

// create makes the file: a crash leaves it whole, or none.
func (f *pageFile) create(page []byte) error {
	temp := f.path + ".tmp"
	file, err := f.disk.Create(temp)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(page, 0); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = f.disk.Rename(temp, f.path)
	}
	if err == nil {
		err = f.disk.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		_ = f.disk.Remove(temp)
		return errors.Join(err, file.Close())
	}
	f.file = file
	return nil
}

// drop removes the file, durably.
func (f *pageFile) drop() error {
	err := f.close()
	f.file, f.page = nil, nil
	if gone := f.disk.Remove(f.path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, f.disk.SyncDir(filepath.Dir(f.path)))
}

func (f *pageFile) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
