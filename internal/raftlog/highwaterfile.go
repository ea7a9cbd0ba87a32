package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/vfs"
)

// The file of the high-water mark has two pages of 4096 bytes, which are written in
// turn. The valid one with the higher sequence counts. Numbers are little-endian.
//
//	 0  magic "turnmark"
//	 8  version   u32  1
//	12  crc       u32  CRC32C of bytes 0–11 and 16–55
//	16  sequence  u64
//	24  index     u64
//	32  term      u64
//	40  owner     u64  FNV-1a of the node's incarnation
//	48  doubt     u64  see Loss; 0: none
//	56  index     u64  of the furthest mark ever
//	64  term      u64
//	72  restored  u32  see Loss; 1: yes
//	76  crc       u32  CRC32C of bytes 0–75
//
// Versions that do not know what is behind the doubt write nothing there. So it counts only if
// its checksum, which includes all before it, is right. If not, the mark is the furthest one,
// and a doubt may be due to an older copy.
const (
	MarkName    = "highwater"
	markMagic   = "turnmark"
	markVersion = 1
	markPage    = 4096
	markFirst   = 56 // bytes that all versions write
	markBytes   = 80
)

// OpenHighWater opens the mark in dir, or makes one. A mark that is damaged or another
// node's is replaced: nothing but proof of another loss is gone with it.
func OpenHighWater(disk vfs.FS, dir, incarnation string, halt func(error), log *slog.Logger) (*HighWater, error) {
	owner := fnv.New64a()
	_, _ = io.WriteString(owner, incarnation) // cannot fail
	h := &HighWater{path: filepath.Join(dir, MarkName), owner: owner.Sum64(), halt: halt, log: log}
	h.show()
	if err := disk.MkdirAll(dir); err != nil {
		return nil, err
	}
	file, err := disk.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, h.create(disk)
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: open %s: %w", h.path, err)
	}
	h.file = file
	found, err := h.read()
	if err == nil && !found {
		log.Warn("the high-water mark of the log is unreadable; starting a new one", "file", h.path)
		err = errors.Join(file.Close(), h.create(disk))
	}
	if err != nil {
		_ = h.file.Close()
		return nil, err
	}
	h.show()
	return h, nil
}

func (h *HighWater) create(disk vfs.FS) (err error) {
	temp := h.path + ".tmp"
	if h.file, err = disk.Create(temp); err != nil {
		return fmt.Errorf("raftlog: create %s: %w", h.path, err)
	}
	err = h.file.Allocate(2 * markPage)
	for range 2 {
		if err == nil {
			err = h.write()
		}
	}
	if err == nil {
		err = h.file.Sync()
	}
	if err == nil {
		err = disk.Rename(temp, h.path)
	}
	if err == nil {
		err = disk.SyncDir(filepath.Dir(h.path))
	}
	if err != nil {
		return fmt.Errorf("raftlog: create %s: %w", h.path, errors.Join(err, h.file.Close()))
	}
	return nil
}

// read takes the newest valid page; false: there is none.
func (h *HighWater) read() (found bool, err error) {
	for page := range int64(2) {
		b := make([]byte, markBytes)
		if n, err := h.file.ReadAt(b, page*markPage); n < len(b) {
			if err != nil && !errors.Is(err, io.EOF) {
				return false, fmt.Errorf("raftlog: read %s: %w", h.path, err)
			}
			continue
		}
		if string(b[:8]) != markMagic || binary.LittleEndian.Uint32(b[12:]) != markSum(b) {
			continue
		}
		if v := binary.LittleEndian.Uint32(b[8:]); v > markVersion {
			return false, fmt.Errorf("raftlog: %s has version %d, this turnlog reads version %d: run the newer turnlog",
				h.path, v, markVersion)
		}
		sequence := binary.LittleEndian.Uint64(b[16:])
		if binary.LittleEndian.Uint64(b[40:]) != h.owner || found && sequence < h.sequence {
			continue
		}
		h.sequence, found = sequence, true
		h.mark = Position{binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:])}
		h.doubt = binary.LittleEndian.Uint64(b[48:])
		h.missing = h.doubt > 0
		h.peak, h.restored = h.mark, h.missing
		if binary.LittleEndian.Uint32(b[76:]) == crc32.Checksum(b[:76], castagnoli) {
			h.peak = Position{binary.LittleEndian.Uint64(b[56:]), binary.LittleEndian.Uint64(b[64:])}
			h.restored = b[72] == 1
		}
	}
	return found, nil
}

func markSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:markFirst])
}

// write writes the mark to the page that has the older one. The caller holds mu.
func (h *HighWater) write() error {
	h.sequence++
	var b [markBytes]byte
	copy(b[:], markMagic)
	binary.LittleEndian.PutUint32(b[8:], markVersion)
	binary.LittleEndian.PutUint64(b[16:], h.sequence)
	binary.LittleEndian.PutUint64(b[24:], h.mark.Index)
	binary.LittleEndian.PutUint64(b[32:], h.mark.Term)
	binary.LittleEndian.PutUint64(b[40:], h.owner)
	binary.LittleEndian.PutUint64(b[48:], h.doubt)
	binary.LittleEndian.PutUint64(b[56:], h.peak.Index)
	binary.LittleEndian.PutUint64(b[64:], h.peak.Term)
	if h.restored {
		b[72] = 1
	}
	binary.LittleEndian.PutUint32(b[12:], markSum(b[:]))
	binary.LittleEndian.PutUint32(b[76:], crc32.Checksum(b[:76], castagnoli))
	_, err := h.file.WriteAt(b[:], int64(h.sequence%2)*markPage)
	h.dirty = true
	if err != nil {
		h.sequence-- // the next attempt is for the same page: the other one is whole
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// show publishes mark and peak. The caller holds mu, or is the only one yet.
func (h *HighWater) show() {
	mark, peak := h.mark, h.peak
	h.shown.Store(&mark)
	h.furthest.Store(&peak)
}
