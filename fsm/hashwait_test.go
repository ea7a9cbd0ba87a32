package fsm

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// An entry that asks for a hash waits for the flush in flight, which is not paced any more
// then: all later entries wait, too.
func TestHashHurriesTheFlushBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Close() }()
		var ops []turn.Op
		for i := range 1000 {
			ops = append(ops, &turn.Append{Key: benchKey(i), Messages: []turn.NewMessage{{Data: make([]byte, 2000)}}})
		}
		m.Apply(1, 1, encodeOps(t, ops...))
		time.Sleep(time.Hour) // so long ago was the flush before: there is time
		flushed := make(chan error, 1)
		go func() {
			_, err := m.flush()
			flushed <- err
		}()
		synctest.Wait() // the flush is ahead of its time, and pauses
		began := time.Now()
		m.Apply(2, 1, encodeOps(t, &codec.Checksum{}))
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the entry waited %v for a flush that was in no hurry", took)
		}
		if err := <-flushed; err != nil {
			t.Error(err)
		}
	})
}

// An entry that waits for a flush before its hash is taken gives the state away: it must not
// keep a transaction of the store open, which a restored state would wait for without end.
func TestHashWaitsWithoutATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.apply(1, appendOf(sessionA, "", "x"))
		r.flush()
		r.m.mu.Lock()
		r.m.keys.Tables.Frozen = memtable.NewTable() // as if it were on its way to the store
		r.m.mu.Unlock()
		applied := make(chan struct{})
		go func() {
			defer close(applied)
			r.m.Apply(r.index+1, 1, encodeOps(t, appendOf(sessionA, "", "y"), &codec.Checksum{}))
		}()
		synctest.Wait()
		r.m.mu.Lock()
		if r.m.keys.Reads() {
			t.Error("the store is being read while the entry waits")
		}
		r.m.keys.Tables.Frozen = nil
		r.m.room.Broadcast()
		r.m.mu.Unlock()
		<-applied
	})
}
