package snapshot

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/descriptors/descriptorstest"
)

// A snapshot is received also when clients have all descriptors at the moment. A follower that
// needs it would stay behind otherwise.
func TestSnapshotWaitsForADescriptor(t *testing.T) {
	from, _ := storeWith(t, t.TempDir(), 5)
	if err := takeLocal(t, from, 5); err != nil {
		t.Fatal(err)
	}
	to, m := storeWith(t, t.TempDir(), 0)
	synctest.Test(t, func(t *testing.T) {
		descriptorstest.None(t, createLimit/2)
		sink, err := to.Create(1, 5, 1, servers(3), 1, nil)
		if err != nil {
			t.Errorf("receive: %v", err)
		} else if err := sink.Cancel(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // the descriptors are back
	})
	receive(t, from, to, true)
	synctest.Test(t, func(t *testing.T) {
		descriptorstest.None(t, time.Second)
		if err := to.Adopt(); err != nil {
			t.Errorf("adopt: %v", err)
		}
		time.Sleep(time.Minute)
	})
	if have, _ := m.Durable(); have != 5 {
		t.Errorf("the state ends at entry %d", have)
	}
}

// Raft's main loop begins to receive a snapshot: heartbeats and votes wait meanwhile. If there is
// no descriptor for longer, the leader sends the snapshot again.
func TestSnapshotDoesNotHoldUpRaft(t *testing.T) {
	to, _ := storeWith(t, t.TempDir(), 0)
	synctest.Test(t, func(t *testing.T) {
		descriptorstest.None(t, time.Second)
		began := time.Now()
		if _, err := to.Create(1, 5, 1, servers(3), 1, nil); !descriptors.Missing(err) {
			t.Errorf("receive: %v", err)
		}
		if took := time.Since(began); took > 2*createLimit {
			t.Errorf("it took %v, want %v", took, createLimit)
		}
		time.Sleep(time.Minute) // the descriptors are back
	})
}
