package fsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/turn"
)

// fullRig has something in each bucket whose values are sealed.
func fullRig(t *testing.T) *rig {
	r := newRig(t)
	b, gone := turn.Key{Namespace: "0", Name: "b"}, turn.Key{Namespace: "1", Name: "gone"}
	r.apply(1, appendOf(sessionA, "id", "hello"), appendOf(b, "id", "hello"), appendOf(gone, "id", "hello"),
		&turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}},
		setOf(turn.Key{Namespace: "0", Name: "set"}, "a", "b"),
		&turn.Expire{Key: b, HasTTL: true, TTL: 60_000},
		&turn.Delete{Keys: []turn.Key{gone}})
	r.flush()
	return r
}

// A session whose key was damaged is not found, so that its checksum is not read:
// any flipped bit of a sealed pair, in key or value, is found without a query.
func TestScrubFindsAFlippedBit(t *testing.T) {
	r := fullRig(t)
	for _, bucket := range layout.Buckets() {
		flipped := 0
		for n := 0; ; n++ {
			k, v := r.pair(bucket, n)
			if k == nil {
				break
			}
			for at := range len(k) + len(v) {
				for bit := range 8 {
					flipped++
					r.checkFlip(bucket, k, v, at, bit)
				}
			}
		}
		if flipped == 0 {
			t.Errorf("there is nothing in bucket %s", bucket)
		}
	}
	if err := r.m.scrub(t.Context()); err != nil {
		t.Errorf("the state as it was: %v", err)
	}
}

// pair returns a pair of the store by its place, nil if there is none.
func (r *rig) pair(bucket []byte, n int) (k, v []byte) {
	if err := r.db().View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, v = c.First(); n > 0 && k != nil; n-- {
			k, v = c.Next()
		}
		k, v = bytes.Clone(k), bytes.Clone(v)
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return k, v
}

// checkFlip has a bit of a pair flipped while the bucket is looked through.
func (r *rig) checkFlip(bucket, k, v []byte, at, bit int) {
	r.t.Helper()
	key, value := bytes.Clone(k), bytes.Clone(v)
	if at < len(k) {
		key[at] ^= 1 << bit
	} else {
		value[at-len(k)] ^= 1 << bit
	}
	r.move(bucket, k, key, value)
	_, _, err := store.ScrubFrom(r.m.beginScrub, bucket, nil)
	r.move(bucket, key, k, v)
	if turn.KindOf(err) != turn.Corrupt {
		r.t.Errorf("bucket %s: bit %d of byte %d of %x = %x: %v", bucket, bit, at, k, v, err)
	}
}

// What the scrub finds ends the machine, whether or not anybody asks for the session.
func TestDamagedKeyEndsTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fullRig(t)
		k, v := r.pair(layout.BucketHeads, 0)
		other := bytes.Clone(k)
		other[len(k)-1] ^= 1
		r.move(layout.BucketHeads, k, other, v)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.m.Run(ctx); turn.KindOf(err) != turn.Corrupt || !strings.Contains(err.Error(), "state.db") {
			t.Errorf("the machine ended with %v", err)
		}
	})
}

// A store that has lost its description is not a new one.
func TestLostDescription(t *testing.T) {
	r := fullRig(t)
	_, v := r.pair(layout.BucketMeta, 0)
	r.move(layout.BucketMeta, layout.KeyState, []byte("stape"), v)
	_ = r.m.Close()
	if _, err := Open(Config{Dir: r.dir}); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("open: %v", err)
	}
}

// move puts a pair in the place of that of another key.
func (r *rig) move(bucket, from, to, value []byte) {
	r.t.Helper()
	if err := r.db().Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		if err := b.Delete(from); err != nil {
			return err
		}
		return b.Put(to, value)
	}); err != nil {
		r.t.Fatal(err)
	}
}

// Buckets that are longer than what is read at once are read whole, while they change,
// and none of what is sound is taken for damaged; what is damaged at their end is found.
func TestScrubOfManyPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		fill := func(round int) {
			for i := range 60 {
				r.apply(1, &turn.SetString{Key: turn.Key{Namespace: "0", Name: fmt.Sprint(i*7 + round)},
					Value: make([]byte, 80<<10)})
			}
			r.flush()
		}
		fill(0)
		done := make(chan error)
		go func() { done <- r.m.scrub(t.Context()) }()
		for round := range 5 {
			synctest.Wait()
			fill(round)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		parts := 0
		for from := []byte{}; from != nil; parts++ {
			next, _, err := store.ScrubFrom(r.m.beginScrub, layout.BucketElements, from)
			if err != nil {
				t.Fatal(err)
			}
			from = next
		}
		if parts < 5 {
			t.Errorf("the elements were read in %d parts", parts)
		}
		k, v := r.pair(layout.BucketElements, 299)
		v[len(v)-1] ^= 1
		r.move(layout.BucketElements, k, k, v)
		if err := r.m.scrub(t.Context()); turn.KindOf(err) != turn.Corrupt {
			t.Errorf("the last element is damaged: %v", err)
		}
	})
}

// A scrub that could not go on while the machine was halted is tried again soon after that, and
// seldom while it fails.
func TestScrubIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 20 {
			r.apply(1, appendOf(turn.Key{Namespace: "0", Name: fmt.Sprint(i)}, "id", strings.Repeat("x", 3000)))
		}
		r.flush()
		r.rot(13)
		r.m.Halt(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.m.Run(ctx) }()
		time.Sleep(3 * time.Hour)
		if damage, _ := r.m.Damage(); damage != nil {
			t.Fatalf("a halted machine was read: %v", damage)
		}
		if !r.m.Resume() {
			t.Fatal("it does not go on")
		}
		time.Sleep(scrubRetryMost + time.Minute)
		if damage, _ := r.m.Damage(); damage == nil {
			t.Error("the damage is not found")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A scrub that could not read the state file is told of, and tried again soon.
func TestScrubThatCannotBeginIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fullRig(t)
		var told logtest.Text
		r.m.cfg.Logger = slog.New(slog.NewTextHandler(&told, nil))
		path := filepath.Join(r.dir, "state.db")
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		k, v := r.pair(layout.BucketElements, 0)
		v[len(v)-1] ^= 1
		r.move(layout.BucketElements, k, k, v)
		r.m.cfg.OnDamage = func(error) {}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			r.m.scrubs(ctx)
			close(ended)
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		if damage, _ := r.m.Damage(); damage != nil || !strings.Contains(told.String(), "state.db") {
			t.Errorf("damage %v, told: %q", damage, told.String())
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(scrubRetryMost)
		synctest.Wait()
		if damage, _ := r.m.Damage(); damage == nil {
			t.Error("it was not tried again")
		}
		cancel()
		<-ended
	})
}

func TestScrubRetries(t *testing.T) {
	wait := time.Duration(0)
	for i, want := range []time.Duration{scrubRetry, 2 * scrubRetry, 4 * scrubRetry} {
		if wait = nextScrub(errors.New("halted"), wait); wait != want {
			t.Errorf("after failure %d it waits %v, want %v", i+1, wait, want)
		}
	}
	for range 100 {
		wait = nextScrub(errors.New("halted"), wait)
	}
	if wait != scrubRetryMost {
		t.Errorf("in the end it waits %v, want %v", wait, scrubRetryMost)
	}
	if wait = nextScrub(nil, wait); wait != scrubEvery {
		t.Errorf("after a success it waits %v", wait)
	}
	if wait = nextScrub(errors.New("halted"), wait); wait != scrubRetry {
		t.Errorf("at the first failure after that it waits %v", wait)
	}
}
