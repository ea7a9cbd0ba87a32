package fsm

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/codec"
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
		if took := time.Since(began); took > paceMost/10 {
			t.Errorf("the entry waited %v for a flush that was in no hurry", took)
		}
		if err := <-flushed; err != nil {
			t.Error(err)
		}
	})
}
