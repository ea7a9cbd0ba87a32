package wal_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// A writer of the format that knows nothing but FORMAT.md. Each function returns bytes; a test that wants damage
// changes them.

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func u32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
func u64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func withCRC(b []byte) []byte { return u32(b, crc32.Checksum(b, crcTable)) }

func padTo(b []byte, n int) []byte { return append(b, make([]byte, n-len(b))...) }

func formatPreamble(magic string, version uint32) []byte {
	return withCRC(u32([]byte(magic), version))
}

type formatManifest struct {
	logID, sequence, oldest, newest        uint64
	markSegment, markOffset, markNextIndex uint64
	epoch                                  uint32
}

func (m formatManifest) bytes() []byte {
	b := formatPreamble("turnlog\n", 1)
	for _, v := range []uint64{m.logID, m.sequence, m.oldest, m.newest, m.markSegment, m.markOffset, m.markNextIndex} {
		b = u64(b, v)
	}
	slot := padTo(withCRC(u32(b, m.epoch)), 4096)
	return append(slot, slot...)
}

// formatSegment is a segment being written.
type formatSegment struct {
	file []byte
	at   int
	seed uint32
}

func newFormatSegment(logID, number, salt uint64, size int) *formatSegment {
	b := u64(u64(u64(u64(formatPreamble("turnseg\n", 1), logID), number), salt), uint64(size))
	return &formatSegment{file: padTo(withCRC(b), size), at: 4096, seed: crc32.Checksum(b[16:40], crcTable)}
}

type formatBatch struct {
	epoch, count, offset, back uint32
	index, first               uint64
	records                    []byte
}

func (s *formatSegment) record(epoch uint32, r wal.Record) []byte {
	b := u32(u32(u64(u32(nil, epoch), r.Index), uint32(len(r.Data))), uint32(len(r.Meta)))
	b = append(append(b, r.Meta...), r.Data...)
	for len(b)%8 != 4 {
		b = append(b, 0)
	}
	return append(u32(nil, crc32.Update(s.seed, crcTable, b)), b...)
}

// batch writes a batch at the end, if there is room.
func (s *formatSegment) batch(f formatBatch) {
	b := u32(u32(u32(nil, f.epoch), uint32(len(f.records))), f.count)
	b = u32(u32(u64(u64(b, f.index), f.first), f.offset), f.back)
	b = append(u32(nil, crc32.Update(s.seed, crcTable, b)), b...)
	b = append(b, f.records...)
	if s.at+len(b) <= len(s.file) {
		s.at += copy(s.file[s.at:], b)
	}
}

// append writes a batch of records as Append does.
func (s *formatSegment) append(epoch uint32, first uint64, back uint32, records ...wal.Record) {
	f := formatBatch{epoch: epoch, count: uint32(len(records)), offset: uint32(s.at), back: back,
		index: records[0].Index, first: first}
	for _, r := range records {
		f.records = append(f.records, s.record(epoch, r)...)
	}
	s.batch(f)
}

func put(t testing.TB, disk *simdisk.Disk, name string, b []byte) {
	t.Helper()
	if err := disk.MkdirAll(simDir); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Create(simDir + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFormat reads a log that was written by the page.
func TestFormat(t *testing.T) {
	const size = 16 << 10
	one, two := newFormatSegment(77, 1, 1001, size), newFormatSegment(77, 2, 1002, size)
	one.append(1, 5, 0, records(5, 3, 100)...)
	one.batch(formatBatch{epoch: 1, offset: uint32(one.at), index: 7, first: 6}) // truncate after 6 and before 6
	end := uint32(one.at)
	one.append(1, 6, 0, records(7, 3, 50)...) // beyond the end: left behind by a crash
	two.append(2, 6, end, records(7, 2, 10)...)

	disk := simdisk.New()
	put(t, disk, "manifest", formatManifest{logID: 77, sequence: 9, oldest: 1, newest: 2,
		markSegment: 1, markOffset: uint64(end), markNextIndex: 7, epoch: 2}.bytes())
	put(t, disk, "00000000000000000001.seg", one.file)
	put(t, disk, "00000000000000000002.seg", two.file)
	l := simLog(t, disk)
	m := model{}.append(records(6, 1, 100)).append(records(7, 2, 10))
	if d := m.diff(l); d != "" {
		t.Fatal(d)
	}
}

// TestMissingBeginning reads a log whose oldest records lie in a segment that the manifest does not name any more.
func TestMissingBeginning(t *testing.T) {
	one := newFormatSegment(77, 1, 1001, 16<<10)
	one.append(1, 5, 0, records(7, 3, 100)...)
	disk := simdisk.New()
	put(t, disk, "manifest", formatManifest{logID: 77, sequence: 9, oldest: 1, newest: 1,
		markSegment: 1, markOffset: uint64(one.at), markNextIndex: 10, epoch: 1}.bytes())
	put(t, disk, "00000000000000000001.seg", one.file)
	_, err := wal.Open(simDir, simOptions(disk))
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Index != 5 {
		t.Fatalf("open: %v", err)
	}
}
