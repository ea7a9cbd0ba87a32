//go:build unix

package raftstore

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// taken returns how many bytes of the disk the files in a directory take.
func taken(dir string) (bytes uint64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone
		}
		if info, err := e.Info(); err == nil {
			bytes += uint64(info.Sys().(*syscall.Stat_t).Blocks) * 512
		}
		return nil
	})
	return bytes
}

// smallDisks gives each node a disk of so many KiB, with a reserve as large as a segment of the log and as a block
// file.
func smallDisks(kib uint64) func(*Config) {
	return func(cfg *Config) {
		s := &cfg.Storage
		s.ReserveBytes, s.SegmentBytes, s.CompactBytes, s.TailBytes = 4<<20, 4<<20, 4<<20, 4<<20
		s.CheckEvery = 10 * time.Millisecond
		s.FreeBytes = func(dir string) (uint64, error) { return kib<<10 - min(kib<<10, taken(dir)), nil }
		cfg.State.FlushBytes, cfg.State.BlockFileBytes = 1<<20, 4<<20
	}
}

// fill appends to sessions in turn until that is refused, and not only until the logs are cut. It returns how many
// messages it has appended.
func (c *cluster) fill(sessions ...string) (appended int) {
	c.t.Helper()
	data := strings.Repeat("x", 64<<10)
	refused := func() bool { // for good: a majority is short, with logs that cannot be cut
		short := 0
		for _, r := range c.nodes {
			if log := r.data.Log; r.space.Short() != nil && log.IndexForTail(r.leanTail()) <= log.FirstDurable() {
				short++
			}
		}
		return short > len(c.nodes)/2
	}
	for full := false; !full; {
		if appended > 36<<4 {
			c.t.Fatal("writes are admitted though more was written than fits")
		}
		eventuallyTrue(c.t, "writes are admitted, or refused for good", func() bool {
			_, err := c.leader().Apply(c.t.Context(), appendOp(sessions[appended%len(sessions)], data))
			if err == nil {
				appended++
				return true
			}
			if turn.KindOf(err) != turn.ReadOnly {
				c.t.Fatal(err)
			}
			full = refused()
			return full
		})
	}
	return appended
}

// Disks that are full of sessions, whose messages lie between each other in the block files, can be emptied: whatever
// was left when the log took its last segment, and also after other nodes lead, or all have been started again.
func TestDisksFullOfMessagesEmpty(t *testing.T) {
	at := func(name string, nodes int, kib uint64, meanwhile func(*cluster)) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, nodes, smallDisks(kib))
			n := c.fill("a", "a", "b", "c")
			meanwhile(c)
			for id, r := range c.nodes {
				t.Logf("%s, full with %d KiB of messages: %d KiB are free, %v", id, n<<6, r.Stats().Disk.Free>>10,
					r.space.Short())
			}
			for _, op := range []turn.Op{
				&turn.Trim{Key: key("a"), By: turn.KeepLast, N: 2},
				&turn.Delete{Keys: []turn.Key{key("c")}},
			} {
				if _, err := c.leader().Apply(t.Context(), op); err != nil {
					t.Fatalf("%T: %v", op, err)
				}
			}
			c.rejecting(false)
			put(t, c.leader(), "a", "room again")
			if got := len(texts(t, c.leader(), "b", turn.Linearizable)); got != n/4 && got != (n+1)/4 {
				t.Errorf("%d of %d messages of b are left", got, n/4)
			}
			c.sameState()
		})
	}
	for kib := uint64(24 << 10); kib <= 26<<10; kib += 512 {
		at(fmt.Sprintf("a node with %d KiB", kib), 1, kib, func(*cluster) {})
	}
	at("two restarts", 3, 25<<10, (*cluster).restartTwice)
	at("another leader", 3, 25<<10, (*cluster).handOver)
}

func (c *cluster) restartTwice() {
	for range 2 {
		for id := range c.addrs {
			c.kill(id)
		}
		for id := range c.addrs {
			c.start(id)
		}
	}
}

func (c *cluster) handOver() {
	old := c.leader()
	eventuallyTrue(c.t, "another node leads", func() bool {
		_ = old.TransferLeadership(c.t.Context())
		return c.leader() != old
	})
}

// A log that may take no third segment goes on with two, for whatever frees space: what stays behind a snapshot leaves
// one of them free.
func TestLogOfTwoSmallSegmentsGoesOn(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) {
		s := &cfg.Storage
		s.ReserveBytes, s.SegmentBytes, s.CheckEvery = 64<<20, 4<<20, 10*time.Millisecond
		s.FreeBytes = func(string) (uint64, error) { return 65 << 20, nil }
	})
	op, bytes := new(turn.Delete), 0
	for i := range 400 {
		op.Keys = append(op.Keys, key(fmt.Sprintf("%0500d", i)))
		bytes += 500
	}
	for logged := 0; logged < 12<<20; logged += bytes {
		eventuallyTrue(t, fmt.Sprintf("a deletion is logged after %d KiB", logged>>10), func() bool {
			_, err := c.leader().Apply(t.Context(), op)
			return err == nil
		})
	}
}
