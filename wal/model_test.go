package wal_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/turnlog/turnlog/wal"
)

var long = flag.Bool("long", false, "the long forms of the random tests: minutes instead of seconds")

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")

// newRand returns a source whose seed is printed when the test fails.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with: go test -run '^%s$' ./wal -seed %d", t.Name(), seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// model is the obvious log: a slice. It is a value; changes return a new one.
type model struct {
	first   uint64 // index of records[0]
	next    uint64 // 0: any
	records []wal.Record
}

func (m model) append(records []wal.Record) model {
	if m.next == 0 {
		m.first = records[0].Index
	}
	m.records = append(append([]wal.Record(nil), m.records...), records...)
	m.next = m.first + uint64(len(m.records))
	return m
}

func (m model) truncateBefore(index uint64) model {
	m.records, m.first = m.records[index-m.first:], index
	return m
}

func (m model) truncateAfter(index uint64) model {
	m.records, m.next = m.records[:index+1-m.first], index+1
	return m
}

func (m model) reset(next uint64) model { return model{first: next, next: next} }

// diff says how the log differs from the model, or "".
func (m model) diff(l *wal.Log) string {
	first, last := m.first, m.next-1
	if len(m.records) == 0 {
		first, last = 0, 0
	}
	if l.FirstIndex() != first || l.LastIndex() != last || l.NextIndex() != m.next {
		return fmt.Sprintf("the log has %d…%d, next %d; it should have %d…%d, next %d", l.FirstIndex(), l.LastIndex(),
			l.NextIndex(), first, last, m.next)
	}
	for i, want := range m.records {
		got, err := l.Get(m.first + uint64(i))
		if err != nil {
			return fmt.Sprintf("get %d: %v", want.Index, err)
		}
		if got.Index != want.Index || !bytes.Equal(got.Meta, want.Meta) || !bytes.Equal(got.Data, want.Data) {
			return fmt.Sprintf("record %d is %.20q %.20q, and should be %.20q %.20q", want.Index, got.Meta, got.Data,
				want.Meta, want.Data)
		}
	}
	for _, outside := range []uint64{m.first - 1, m.next} {
		if _, err := l.Get(outside); !errors.Is(err, wal.ErrNotFound) {
			return fmt.Sprintf("get %d, outside of the log: %v", outside, err)
		}
	}
	return ""
}

// step is one random call and what the model is after it.
type step struct {
	name  string
	do    func(*wal.Log) error
	after model
}

// batch makes records that continue the model. Their bytes tell them from any other that the test makes.
func batch(m model, r *rand.Rand, maxRecords, maxBytes int) []wal.Record {
	index := m.next
	if index == 0 {
		index = 1 + r.Uint64N(1000)
	}
	records := make([]wal.Record, 1+r.IntN(maxRecords))
	for i := range records {
		records[i] = wal.Record{
			Index: index + uint64(i),
			Meta:  randomBytes(r, r.IntN(20)),
			Data:  randomBytes(r, r.IntN(maxBytes)),
		}
	}
	return records
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// randomStep draws a call that is allowed in the model's state.
func randomStep(m model, r *rand.Rand) step {
	appended := func(records []wal.Record) step {
		return step{fmt.Sprintf("append %d records from %d", len(records), records[0].Index),
			func(l *wal.Log) error { return l.Append(records) }, m.append(records)}
	}
	switch k := r.IntN(100); {
	case k < 60:
		return appended(batch(m, r, 6, 700))
	case k < 65:
		return appended(batch(m, r, 2, 9000))
	case k < 67:
		return appended(batch(m, r, 2, 40000)) // larger than a segment, at times
	case k < 77 && m.next > 0:
		index := m.first + r.Uint64N(m.next-m.first+1)
		return step{fmt.Sprintf("truncate before %d", index), func(l *wal.Log) error { return l.TruncateBefore(index) },
			m.truncateBefore(index)}
	case k < 87 && m.next > 0:
		index := m.first - 1 + r.Uint64N(m.next-m.first+1)
		return step{fmt.Sprintf("truncate after %d", index), func(l *wal.Log) error { return l.TruncateAfter(index) },
			m.truncateAfter(index)}
	case k < 90:
		next := uint64(0)
		if r.IntN(2) == 0 {
			next = 1 + r.Uint64N(2000)
		}
		return step{fmt.Sprintf("reset to %d", next), func(l *wal.Log) error { return l.Reset(next) }, m.reset(next)}
	}
	return step{"maintain", (*wal.Log).Maintain, m}
}

var quiet = slog.New(slog.DiscardHandler)

// TestModel compares the log on the real disk with the model, through random calls and reopenings.
func TestModel(t *testing.T) {
	r := newRand(t)
	runs := 5
	if *long {
		runs = 100
	}
	for range runs {
		dir := t.TempDir()
		opts := wal.Options{SegmentBytes: 16 << 10, CacheBytes: r.Int64N(20000) - 1, SpareSegments: r.IntN(4) - 1,
			Logger: quiet}
		l, err := wal.Open(dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		var m model
		for range 150 {
			s := randomStep(m, r)
			if err := s.do(l); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			m = s.after
			if d := m.diff(l); d != "" {
				t.Fatalf("after %s: %s", s.name, d)
			}
			if r.IntN(15) > 0 {
				continue
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if l, err = wal.Open(dir, opts); err != nil {
				t.Fatal(err)
			}
			if d := m.diff(l); d != "" {
				t.Fatalf("reopened after %s: %s", s.name, d)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIndexForTail compares IndexForTail with its definition.
func TestIndexForTail(t *testing.T) {
	r := newRand(t)
	l, err := wal.Open(t.TempDir(), wal.Options{SegmentBytes: 16 << 10, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.IndexForTail(1 << 30); got != 0 {
		t.Fatalf("of an empty log: %d", got)
	}
	var m model
	for range 100 {
		records := batch(m, r, 6, 700)
		if err := l.Append(records); err != nil {
			t.Fatal(err)
		}
		m = m.append(records)
	}
	if err := l.TruncateBefore(m.first + 20); err != nil {
		t.Fatal(err)
	}
	m = m.truncateBefore(m.first + 20)
	last := m.next
	for bytes := int64(0); last > m.first; bytes += 97 {
		got := l.IndexForTail(bytes)
		if got > last || got < m.first {
			t.Fatalf("%d bytes: %d, and fewer bytes gave %d", bytes, got, last)
		}
		if tail := l.TailBytes(got); tail > bytes || got > m.first && l.TailBytes(got-1) <= bytes {
			t.Fatalf("%d bytes: %d, and the records from there on take %d, with the one before %d", bytes, got, tail,
				l.TailBytes(got-1))
		}
		payload := 0
		for _, rec := range m.records[got-m.first:] {
			payload += len(rec.Meta) + len(rec.Data)
		}
		if int64(payload) > bytes {
			t.Fatalf("from %d to the end there are at least %d bytes, more than %d", got, payload, bytes)
		}
		last = got
	}
}
