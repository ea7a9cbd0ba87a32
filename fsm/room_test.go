package fsm

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// small returns a machine whose memtable is to be flushed at 10,000 bytes, and a function that appends
// so many bytes.
func small(t *testing.T) (m *Machine, add func(size int)) {
	m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 10_000, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	index := uint64(0)
	return m, func(size int) {
		b, err := codec.EncodeOp(appendOf(sessionA, "", string(bytes.Repeat([]byte("x"), size))))
		if err != nil {
			t.Error(err)
		}
		index++
		m.Apply(index, 1, codec.AppendEntry(nil, 1, []codec.Command{{Op: b}}))
	}
}

// A memtable that is full is flushed without a wait for the next interval, one that is not stays.
func TestFullMemtableIsFlushed(t *testing.T) {
	m, add := small(t)
	wanted := func() bool {
		select {
		case <-m.kick:
			return true
		default:
			return false
		}
	}
	add(5_000)
	if wanted() {
		t.Error("a flush is wanted of half a memtable")
	}
	add(5_000)
	if !wanted() {
		t.Error("no flush is wanted of a full memtable")
	}
}

// While a memtable is flushed, the next one does not outgrow it: entries wait. So does what is asked
// to be calm, at half of that. A state that takes the place of this one's ends the wait, as a flush does.
func TestEntriesWaitForAFlush(t *testing.T) {
	for how, end := range map[string]func(*Machine, []byte) error{
		"flush":   func(m *Machine, _ []byte) error { _, err := m.flush(); return err },
		"restore": func(m *Machine, dump []byte) error { return m.Restore(bytes.NewReader(dump)) },
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			for range 9 {
				r.apply(1, appendOf(sessionA, "", "of another node"))
			}
			dump := r.dump()
			synctest.Test(t, func(t *testing.T) {
				m, add := small(t)
				freeze := func() {
					m.mu.Lock()
					defer m.mu.Unlock()
					m.freeze()
				}
				add(100)
				freeze()
				add(6_000)
				calm := make(chan error, 1)
				go func() { calm <- m.Calm(t.Context()) }()
				add(6_000)
				if index, _ := m.Applied(); index != 3 {
					t.Fatalf("entry %d is applied, want 3: a memtable has room", index)
				}
				go add(1)
				synctest.Wait()
				if index, _ := m.Applied(); index != 3 || len(calm) > 0 {
					t.Errorf("entry %d is applied, want 3; %d are calm", index, len(calm))
				}
				if err := end(m, dump); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(calm) == 0 {
					t.Error("nothing is calm after that")
				}
				if index, _ := m.Applied(); index < 4 {
					t.Errorf("entry %d is applied after that", index)
				}
				m.mu.Lock()
				m.fail(errClosed) // ends what still waits
				m.mu.Unlock()
			})
		})
	}
}

// An operation that is refused answers with nothing but when that was.
func TestRefusedOperationsAnswerNothing(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "x", "1"), appendOf(sessionA, "y", "2"))
	none := uint64(77)
	for _, op := range []turn.Op{appendOf(sessionA, "x", "other"),
		&turn.Append{Key: sessionA, Expect: &none}, &turn.Pop{Key: sessionA, Expect: &none},
		&turn.SetFields{Key: sessionA, Type: turn.TypeHash, Fields: []turn.Field{{Name: "f"}}},
		&turn.Fork{Key: sessionA, To: turn.Key{Namespace: "0", Name: "b"}, At: 9},
	} {
		out := r.apply(5, op)[0]
		if want := (turn.Result{Index: r.index, Time: 5}); out.Err == nil || !sameResult(out.Result, want) {
			t.Errorf("%T: %+v, %v", op, out.Result, out.Err)
		}
	}
}
