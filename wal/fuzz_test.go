package wal_test

import (
	"errors"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

// script turns fuzz input into decisions.
type script []byte

func (s *script) next() int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b)
}

func (s *script) bytes(n int) []byte {
	n = min(n, len(*s))
	b := (*s)[:n]
	*s = (*s)[n:]
	return b
}

// fuzzSegment writes batches with right checksums and whatever else the script wants in them.
func fuzzSegment(s *script, seg *formatSegment, epoch uint32, index uint64) uint64 {
	for n := s.next() % 8; n > 0; n-- {
		f := formatBatch{epoch: epoch, offset: uint32(seg.at), index: index, first: 1, back: uint32(4096 + 8*s.next())}
		for k := s.next() % 4; k > 0; k-- {
			r := wal.Record{Index: index, Meta: s.bytes(s.next() % 8), Data: s.bytes(s.next())}
			b := seg.record(epoch, r)
			if s.next() == 255 && len(b) > 0 {
				b[s.next()%len(b)] ^= byte(s.next())
			}
			f.records = append(f.records, b...)
			f.count++
			index++
		}
		switch odd := s.next(); odd {
		case 255:
			f.epoch += uint32(s.next()) - 3
		case 254:
			f.index += uint64(s.next()) - 128
		case 253:
			f.first += uint64(s.next()) - 2
		case 252:
			f.count += uint32(s.next()) - 128
		case 251:
			f.offset += uint32(s.next()) - 128
		case 250:
			f.records = append(f.records, s.bytes(s.next())...)
		case 249:
			f.index, f.first = uint64(s.next())<<(s.next()%64), uint64(s.next())<<(s.next()%64)
		case 248:
			f.first = f.index
		}
		seg.batch(f)
	}
	return index
}

// FuzzOpen opens folders that no log ever wrote. Open refuses them, or the log that it returns is whole: every record
// can be read, it can be used, and it is the same when it is opened again.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 3, 0, 1, 2, 65, 65, 3, 66, 66, 66, 0, 0, 0, 2, 9, 1, 67, 4, 1, 1, 1, 1, 0, 0})
	f.Add([]byte{1, 2, 7, 3, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 1, 5, 5, 5, 5, 5, 5, 255, 3, 9, 248, 254,
		129, 1, 2, 3})
	// a record under another number
	f.Add([]byte{0, 1, 0, 1, 0, 1, 65, 0, 249, 2, 0, 2, 0})
	// a dropped record is damaged
	f.Add([]byte{1, 1, 16, 3, 3, 0, 1, 0, 0, 255, 5, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 248, 0})
	f.Add([]byte("\x03\x05 a small log with \xff odd \xfd batches \xfc in it \xfb and so on, and on \xf9 and on \xf8"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := script(data)
		disk := simdisk.New()
		const size = 16 << 10
		m := formatManifest{logID: 5, sequence: 1, oldest: 1, newest: 2, markSegment: 1, markOffset: 4096, epoch: 3}
		if s.next()%2 == 1 {
			m.markSegment, m.markOffset, m.markNextIndex = uint64(s.next()%3), 4096+8*uint64(s.next()), uint64(s.next())
		}
		one, two := newFormatSegment(5, 1, 11, size), newFormatSegment(5, 2, 12, size)
		index := fuzzSegment(&s, one, 3, 1)
		fuzzSegment(&s, two, 3, index)
		copy(two.file[two.at:], s)
		put(t, disk, "manifest", m.bytes())
		put(t, disk, "00000000000000000001.seg", one.file)
		put(t, disk, "00000000000000000002.seg", two.file)
		openAnything(t, disk)
	})
}

// FuzzFiles opens folders of arbitrary files.
func FuzzFiles(f *testing.F) {
	one := newFormatSegment(5, 1, 11, 16<<10)
	one.append(1, 1, 0, records(1, 3, 30)...)
	manifest := formatManifest{logID: 5, sequence: 1, oldest: 1, newest: 1, markSegment: 1, markOffset: 4096,
		epoch: 1}.bytes()
	f.Add(manifest, one.file[:one.at])
	f.Add(manifest, []byte{})
	f.Add([]byte{}, one.file)
	f.Fuzz(func(t *testing.T, manifest, segment []byte) {
		disk := simdisk.New()
		put(t, disk, "manifest", manifest)
		if len(segment) > 52 && len(segment) < 16<<10 {
			segment = padTo(segment, 16<<10)
		}
		put(t, disk, "00000000000000000001.seg", segment)
		openAnything(t, disk)
	})
}

func openAnything(t *testing.T, disk *simdisk.Disk) {
	report, verr := wal.Verify(simDir, wal.Options{FS: disk})
	l, err := wal.Open(simDir, simOptions(disk))
	if (err == nil) != (verr == nil) {
		t.Fatalf("open: %v, and verify: %v", err, verr)
	}
	if err != nil {
		var corrupt *wal.CorruptError
		if !errors.As(err, &corrupt) && !errors.Is(err, wal.ErrNewer) {
			t.Fatal(err)
		}
		return
	}
	if report.FirstIndex != l.FirstIndex() || report.LastIndex != l.LastIndex() || report.NextIndex != l.NextIndex() {
		t.Fatalf("verify: %+v, and open: %d…%d", report, l.FirstIndex(), l.LastIndex())
	}
	m := model{first: l.FirstIndex(), next: l.NextIndex()}
	if m.first == 0 {
		m.first = m.next
	}
	for i := m.first; i != m.next; i++ {
		r, err := l.Get(i)
		if err != nil {
			t.Fatalf("get %d of %d…%d: %v", i, m.first, m.next, err)
		}
		m.records = append(m.records, r)
	}
	if m.next == ^uint64(0) {
		return
	}
	b := records(max(1, m.next), 2, 20)
	mustAppend(t, l, b)
	m = m.append(b)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = simLog(t, disk)
	if d := m.diff(l); d != "" {
		t.Fatal(d)
	}
}
