package snapshot

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/turn"
)

const advice = "seed it again"

// openQuietly opens a store that sends as fast as it can, and logs nothing.
func openQuietly(dir string, state *fsm.Machine) (*Store, error) {
	return Open(dir, Config{State: state, Clock: &handTime{now: time.Unix(1000, 0)}, Advice: advice,
		Logger: slog.New(slog.DiscardHandler)})
}

// handTime is moved by hand.
type handTime struct{ now time.Time }

func (c *handTime) Now() time.Time { return c.now }

// storeWith returns a snapshot store over a state that has applied n entries.
func storeWith(t *testing.T, dir string, n uint64) (*Store, *fsm.Machine) {
	t.Helper()
	m, err := fsm.Open(fsm.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	for i := uint64(1); i <= n; i++ {
		op, err := codec.EncodeOp(&turn.Append{Key: turn.Key{Namespace: "0", Name: "s"},
			Messages: []turn.NewMessage{{Data: fmt.Append(nil, i)}}})
		if err != nil {
			t.Fatal(err)
		}
		m.Apply(i, 1, codec.AppendEntry(nil, int64(i), []codec.Command{{Origin: 9, Number: i, Op: op}}))
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := openQuietly(filepath.Join(dir, "snapshots"), m)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func servers(n int) (c raft.Configuration) {
	for i := range n {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(fmt.Sprint("n", i+1)), Address: "a"})
	}
	return c
}

// takeLocal makes a marker at index.
func takeLocal(t *testing.T, s *Store, index uint64) error {
	t.Helper()
	sink, err := s.Create(1, index, 1, servers(3), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	have, _ := s.state.Durable()
	if err := KeepLocal(sink, have); err != nil {
		t.Fatal(err)
	}
	return sink.Close()
}

// receive feeds one store's snapshot to another, as Raft does, up to a point.
func receive(t *testing.T, from, to *Store, closeIt bool) {
	t.Helper()
	list, err := from.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	meta, r, err := from.Open(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sink, err := to.Create(meta.Version, meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	var size int64
	for {
		n, err := r.Read(b)
		if _, err := sink.Write(b[:n]); err != nil {
			t.Fatal(err)
		}
		size += int64(n)
		if err != nil {
			break
		}
	}
	if size != meta.Size {
		t.Fatalf("the stream has %d bytes, %d were announced", size, meta.Size)
	}
	if closeIt {
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A snapshot that comes in survives a crash after each of its steps.
func TestReceivedSnapshotAndCrashes(t *testing.T) {
	from, _ := storeWith(t, t.TempDir(), 20)
	if err := takeLocal(t, from, 15); err != nil {
		t.Fatal(err)
	}
	reopen := func(dir string, m *fsm.Machine) (*Store, *fsm.Machine) {
		_ = m.Close()
		return storeWith(t, dir, 0)
	}
	check := func(t *testing.T, s *Store, m *fsm.Machine, index uint64) {
		t.Helper()
		if err := s.Adopt(); err != nil {
			t.Fatal(err)
		}
		if have, _ := m.Durable(); have != index {
			t.Fatalf("the state ends at %d, want %d", have, index)
		}
		left, _ := filepath.Glob(filepath.Join(s.dir, "*"))
		for _, f := range left {
			if name := filepath.Base(f); name != MarkerName && name != smallfile.SecondCopy(MarkerName) {
				t.Fatalf("%s is left over", f)
			}
		}
		// It is taken over once: from now on the state must not end before it.
		again, _ := reopen(filepath.Dir(s.dir), m)
		if err := again.Adopt(); err != nil {
			t.Fatalf("when the node starts again: %v", err)
		}
		if index >= 15 {
			_, again.state = storeWith(t, t.TempDir(), 0)
			if err := again.Check(); err == nil {
				t.Fatal("the loss of a state that was taken over is not noticed")
			}
		}
	}
	t.Run("in the middle", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, false)
		to, m = reopen(dir, m)
		check(t, to, m, 3)
	})
	t.Run("between file and marker", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		if err := errors.Join(os.Remove(to.path(MarkerName)),
			os.Remove(to.path(smallfile.SecondCopy(MarkerName)))); err != nil {
			t.Fatal(err)
		}
		to, m = reopen(dir, m)
		check(t, to, m, 3)
	})
	t.Run("before the restore", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		to, m = reopen(dir, m)
		check(t, to, m, 20) // what the sender's state comprised, which is more than the marker says
		if p := to.Position(); p.Index != 15 {
			t.Fatalf("the snapshot is at %d", p.Index)
		}
	})
	t.Run("after the restore", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		if err := to.restore(*to.newest); err != nil {
			t.Fatal(err)
		}
		to, m = reopen(dir, m)
		check(t, to, m, 20)
	})
	t.Run("with a damaged file", func(t *testing.T) {
		dir := t.TempDir()
		to, m := storeWith(t, dir, 3)
		receive(t, from, to, true)
		b, err := os.ReadFile(to.path(dumpName))
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(to.path(dumpName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := to.Adopt(); err == nil {
			t.Fatal("a damaged snapshot is taken over")
		}
		if have, _ := m.Durable(); have != 3 {
			t.Fatalf("the state is at %d", have)
		}
	})
}

func TestSnapshotsDoNotGoBack(t *testing.T) {
	s, _ := storeWith(t, t.TempDir(), 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	if err := takeLocal(t, s, 8); err == nil {
		t.Fatal("an older snapshot takes the place of a newer one")
	}
	if p := s.Position(); p.Index != 9 {
		t.Fatalf("the snapshot is at %d", p.Index)
	}
}

// Raft is told where a snapshot ends, in which term, and who was a member then: of one that the node
// made by itself, and of one that it received.
func TestSnapshotsSayWhereTheyEnd(t *testing.T) {
	from, _ := storeWith(t, t.TempDir(), 20)
	sink, err := from.Create(1, 15, 4, servers(3), 12, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(KeepLocal(sink, 20), sink.Close()); err != nil {
		t.Fatal(err)
	}
	to, _ := storeWith(t, t.TempDir(), 3)
	receive(t, from, to, true)
	for name, s := range map[string]*Store{"its own": from, "a received one": to} {
		if p := s.Position(); p.Index != 15 || p.Term != 4 {
			t.Errorf("%s ends at %v", name, p)
		}
		list, err := s.List()
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", name, list, err)
		}
		m := list[0]
		if m.Index != 15 || m.Term != 4 || m.ConfigurationIndex != 12 ||
			!reflect.DeepEqual(m.Configuration, servers(3)) {
			t.Errorf("%s: %+v", name, m)
		}
		servers, index := LastServers(s.dir)
		if index != 12 || len(servers) != 3 {
			t.Errorf("%s is read as one of %v, of entry %d", name, servers, index)
		}
	}
}

// A state file that does not go as far as the snapshot says was lost or replaced.
func TestLostStateIsNoticed(t *testing.T) {
	dir := t.TempDir()
	s, m := storeWith(t, dir, 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	if err := os.Remove(filepath.Join(dir, "state.db")); err != nil {
		t.Fatal(err)
	}
	s, _ = storeWith(t, dir, 0)
	if err := s.Adopt(); turn.KindOf(err) != turn.Corrupt {
		t.Fatalf("got %v", err)
	}
}

func TestDamagedMarkerIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, m := storeWith(t, dir, 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) func(string) string {
		return func(m string) string { return strings.Replace(m, old, new, 1) }
	}
	newer := func(m string) string {
		m = edit(`"version":1`, `"version":2,"more":"than we know"`)(m)
		sum, ok := smallfile.JSONSum([]byte(m), markerUnchecked)
		if !ok {
			t.Fatalf("no checksum in %s", m)
		}
		return regexp.MustCompile(`"crc32c":\d+`).ReplaceAllString(m, fmt.Sprintf(`"crc32c":%d`, sum))
	}
	for name, c := range map[string]struct {
		spoil func(string) string
		says  string
	}{
		"flipped":         {edit(`"index":9`, `"index":8`), advice},
		"truncated":       {func(m string) string { return m[:len(m)/2] }, advice},
		"version flipped": {edit(`"version":1`, `"version":9`), advice},
		"checksum lost":   {edit(`"crc32c"`, `"crc32d"`), advice},
		"newer":           {newer, "run the newer turnlog"},
	} {
		spoil := c.spoil
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(s.path(MarkerName))
			if err != nil {
				t.Fatal(err)
			}
			defer smallfile.WriteCopies(s.path(MarkerName), b)
			if err := smallfile.WriteCopies(s.path(MarkerName), []byte(spoil(string(b)))); err != nil {
				t.Fatal(err)
			}
			if _, err := openQuietly(s.dir, m); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("it is taken as %v", err)
			}
		})
	}
}

// A replicator that outlived its member's removal sends the member that was added
// again what that has passed.
func TestPassedSnapshotIsRefused(t *testing.T) {
	from, _ := storeWith(t, t.TempDir(), 10)
	if err := takeLocal(t, from, 9); err != nil {
		t.Fatal(err)
	}
	to, _ := storeWith(t, t.TempDir(), 12)
	if err := takeLocal(t, to, 4); err != nil {
		t.Fatal(err)
	}
	for applied, refused := range map[uint64]bool{8: false, 9: false, 10: true} {
		to.Follow(func() uint64 { return applied })
		sink, err := to.Create(1, 9, 1, servers(3), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = sink.Write([]byte("state"))
		if err := sink.Cancel(); err != nil {
			t.Fatal(err)
		}
		if (err != nil) != refused {
			t.Errorf("a snapshot at entry 9, for a node that has applied entry %d: %v", applied, err)
		}
	}
	if err := takeLocal(t, to, 5); err != nil {
		t.Errorf("a local snapshot is behind what was applied, always: %v", err)
	}
}

// Two snapshots that finish at the same time leave the newer one, in memory and on
// the disk.
func TestOverlappingSnapshotsLeaveTheNewer(t *testing.T) {
	dir := t.TempDir()
	s, err := openQuietly(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 300; i++ {
		var both sync.WaitGroup
		for _, index := range []uint64{2*i + 1, 2 * i} {
			both.Go(func() { _ = s.keep(marker{Index: index, Term: 1}) })
		}
		both.Wait()
		m, err := readMarker(s.path(MarkerName), advice)
		if err != nil {
			t.Fatal(err)
		}
		if want := 2*i + 1; s.Position().Index != want || m.Best.Index != want || m.Differ {
			t.Fatalf("of the snapshots at %d and %d, %d is the newest, and %d on the disk", want-1, want,
				s.Position().Index, m.Best.Index)
		}
	}
}
