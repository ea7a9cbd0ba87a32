package fsm

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/descriptors/descriptorstest"
)

// crowdedDisk takes all descriptors when a restored state has taken the place of the store.
type crowdedDisk struct {
	store.OSDisk
	t testing.TB
}

func (d crowdedDisk) Rename(from, to string) error {
	err := d.OSDisk.Rename(from, to)
	if filepath.Base(from) == "state.db.restore" {
		descriptorstest.None(d.t, time.Second)
	}
	return err
}

// The files of the state are opened also when clients have all descriptors at the moment. A
// restore would end the machine otherwise: the state that it had is gone.
func TestStoreWaitsForADescriptor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fullRig(t)
		dump := r.fork(t).dump()
		descriptorstest.None(t, time.Second)
		if err := r.m.scrub(t.Context()); err != nil {
			t.Errorf("scrub: %v", err)
		}
		synctest.Wait()
		r.m.store.Disk = crowdedDisk{t: t}
		if err := r.m.Restore(bytes.NewReader(dump)); err != nil {
			t.Errorf("restore: %v", err)
		}
		if err := r.m.Err(); err != nil {
			t.Errorf("the machine ended: %v", err)
		}
		time.Sleep(time.Minute) // the descriptors are back
	})
}

// What is resident is bounded on when it could not be for a while.
func TestResidentPartIsBoundedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var told bytes.Buffer
		r.m.store.Log = slog.New(slog.NewTextHandler(&told, nil))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			r.m.store.BoundResident(ctx, 0)
			close(ended)
		}()
		for range 2 {
			descriptorstest.None(t, 10*time.Second+time.Second/2)
			time.Sleep(time.Minute)
		}
		select {
		case <-ended:
			t.Error("it has ended")
		default:
		}
		cancel()
		<-ended
		if n := strings.Count(told.String(), "too many open files"); n != 2 {
			t.Errorf("told %d times: %s", n, &told)
		}
	})
}
