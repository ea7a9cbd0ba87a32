package raftstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/staterepair"
	"github.com/turnlog/turnlog/turn"
)

// filled is a cluster with sessions whose messages are in block files.
func filled(t *testing.T, options ...func(*Config)) *cluster {
	c := newCluster(t, 3, append(options, calm)...)
	c.leader()
	c.ready()
	for i := range 40 {
		put(t, c.leader(), fmt.Sprint("s", i%8), strings.Repeat("x", 2000), fmt.Sprint("marked", i))
	}
	c.level()
	for _, r := range c.nodes {
		eventuallyTrue(t, "all is flushed", func() bool {
			if err := r.data.State.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			applied, _ := r.data.State.Applied()
			durable, _ := r.data.State.Durable()
			return applied == durable
		})
	}
	return c
}

// rotBlocks flips a bit in the payload of each message in the node's block files that
// says text.
func (c *cluster) rotBlocks(id, text string) {
	c.t.Helper()
	paths, _ := filepath.Glob(filepath.Join(c.dir, id, "blocks", "*.blk"))
	rotten := 0
	for _, path := range paths {
		rotten += c.rotFile(path, text)
	}
	if rotten == 0 {
		c.t.Fatalf("%s is nowhere in %v", text, paths)
	}
}

func (c *cluster) rotFile(path, text string) (rotten int) {
	c.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	for at := 0; ; rotten++ {
		next := bytes.Index(b[at:], []byte(text))
		if next < 0 {
			return rotten
		}
		at += next
		if _, err := f.WriteAt([]byte{b[at] ^ 4}, int64(at)); err != nil {
			c.t.Fatal(err)
		}
		at++
	}
}

// forget empties the memory of what was flushed and read of late, by a restart.
func (c *cluster) forget(id string) *running {
	c.kill(id)
	return c.start(id)
}

// repaired waits until a node has replaced its state, and all have the same.
func (c *cluster) repaired(r *running) {
	c.t.Helper()
	eventuallyTrue(c.t, r.id+" repairs its state", func() bool { return r.Stats().State.Repairs > 0 })
	eventuallyTrue(c.t, r.id+" is ready", func() bool { ok, _ := r.Ready(); return ok })
	for _, left := range []string{staterepair.DamageName, staterepair.AsideName} {
		eventuallyTrue(c.t, left+" is gone", func() bool {
			_, err := os.Stat(filepath.Join(c.dir, r.id, left))
			return errors.Is(err, os.ErrNotExist)
		})
	}
	c.sameState()
	if err := r.failure.Reason(); err != nil {
		c.t.Fatal(err)
	}
}

// Damage to a node's state, found in whatever way, costs no answer and is repaired from
// another node, without a restart and without help.
func TestDamageIsRepaired(t *testing.T) {
	for name, find := range map[string]func(t *testing.T, c *cluster, r *running){
		"read": func(t *testing.T, c *cluster, r *running) {
			for _, level := range []turn.Level{turn.Linearizable, turn.Stale} {
				q := &turn.Read{Key: key("s1"), From: turn.FromAfter, Limit: 100}
				got, err := r.Query(t.Context(), q, turn.Consistency{Level: level})
				if err != nil || len(got.Messages) != 10 {
					t.Errorf("the damaged session: %d messages, %v", len(got.Messages), err)
				}
			}
		},
		"entry": func(t *testing.T, c *cluster, r *running) {
			decided(t, r, &turn.Pop{Key: key("s1"), From: turn.Head, Count: 3})
		},
		"flush": func(t *testing.T, c *cluster, r *running) {
			decided(t, r, &turn.Trim{Key: key("s1"), By: turn.KeepLast, N: 2})
			_ = r.data.State.Flush(t.Context())
			put(t, r, "s1", "more")
		},
	} {
		for _, role := range []string{"leader", "follower"} {
			t.Run(name+" on a "+role, func(t *testing.T) {
				c := filled(t)
				id := c.follower().id
				c.rotBlocks(id, "marked")
				r := c.forget(id)
				c.ready()
				if role == "leader" {
					c.leadBy(id)
				}
				writes := startWriters(t, "w", 3, func(int, int) *running { return r })
				find(t, c, r)
				writes.end()
				c.repaired(r)
				writes.check(r)
				if got := texts(t, r, "s2", turn.Stale); len(got) != 10 {
					t.Errorf("after the repair, another session has %d messages", len(got))
				}
			})
		}
	}
}

// decided has a node decide an operation. On a busy machine, the state that replaces the damaged one can be
// past the entry: then its result is not seen, and that is said.
func decided(t *testing.T, r *running, op turn.Op) {
	t.Helper()
	if _, err := r.Apply(t.Context(), op); err != nil && !turn.Is(err, turn.Unknown) {
		t.Error(err)
	}
}

// A state that cannot be opened is replaced, too.
func TestDamageAtStartIsRepaired(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"state.db cut":     func(dir string) error { return os.Truncate(filepath.Join(dir, "state.db"), 9_000) },
		"state.db emptied": func(dir string) error { return os.Truncate(filepath.Join(dir, "state.db"), 0) },
		"state.db shredded": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "state.db"), make([]byte, 64<<10), 0o600)
		},
		"state.db lost": func(dir string) error { return os.Remove(filepath.Join(dir, "state.db")) },
		"blocks lost":   func(dir string) error { return os.RemoveAll(filepath.Join(dir, "blocks")) },
		"repair interrupted": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, staterepair.DamageName),
				[]byte("as if"), 0o600)
		},
		"putting aside ended": func(dir string) error {
			aside := filepath.Join(dir, staterepair.AsideName)
			return errors.Join(os.WriteFile(filepath.Join(dir, staterepair.DamageName), []byte("as if"), 0o600),
				os.Mkdir(aside, 0o700), os.Rename(filepath.Join(dir, "blocks"), filepath.Join(aside, "blocks")),
				os.Rename(filepath.Join(dir, "state.db"), filepath.Join(aside, "state.db")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := filled(t, smallLog)
			c.cutLogs(20)
			id := c.follower().id
			c.kill(id)
			if err := damage(filepath.Join(c.dir, id)); err != nil {
				t.Fatal(err)
			}
			leader := c.leader()
			writes := startWriters(t, "w", 3, func(int, int) *running { return leader })
			r := c.start(id)
			if got := texts(t, r, "s3", turn.Stale); len(got) != 10 {
				t.Errorf("a stale read gives %d messages before the repair", len(got))
			}
			writes.end()
			c.repaired(r)
			writes.check(r)
			c.kill(id)
			c.start(id)
			c.ready()
			c.sameState()
		})
	}
}

// A state whose bytes are damaged is not sent: who asks for it takes another's, and the
// damage of who was asked is repaired, too.
func TestTwoDamagedNodes(t *testing.T) {
	c := filled(t)
	leader := c.leader().id
	var others []string
	for _, id := range ids(3) {
		if id != leader {
			others = append(others, id)
			c.rotBlocks(id, "marked")
			c.forget(id)
		}
	}
	c.ready()
	for _, id := range others {
		if got := texts(t, c.nodes[id], "s1", turn.Stale); len(got) != 10 {
			t.Errorf("%s answers with %d messages", id, len(got))
		}
	}
	for _, id := range others {
		r := c.nodes[id]
		eventuallyTrue(t, id+" repairs its state", func() bool { return r.Stats().State.Repairs > 0 })
	}
	for _, id := range others {
		c.repaired(c.nodes[id])
	}
}

// What a halted node was handed meanwhile it applies when it goes on.
func TestMissedEntriesAreApplied(t *testing.T) {
	c := newCluster(t, 1, calm)
	r := c.leader()
	put(t, r, "s", "a")
	r.data.State.Halt(nil)
	call := r.Submit(t.Context(), appendOp("s", "b"))
	handed := func() uint64 {
		r.applier.mu.Lock()
		defer r.applier.mu.Unlock()
		return r.applier.handed
	}
	eventuallyTrue(t, "the entry is committed", func() bool {
		applied, _ := r.data.State.Applied()
		return handed() > applied
	})
	if !r.applier.resume() {
		t.Fatal("it does not go on")
	}
	if applied, _ := r.data.State.Applied(); applied < handed() {
		t.Errorf("entry %d is applied, %d was handed over", applied, handed())
	}
	if _, err := call.Wait(); err != nil {
		t.Error(err)
	}
	if got := texts(t, r, "s", turn.Linearizable); len(got) != 2 {
		t.Errorf("read %v", got)
	}
}

// Of the only copy, what is whole is served; what is not is refused, not left out.
func TestDamageToTheOnlyCopy(t *testing.T) {
	c := newCluster(t, 1)
	r := c.leader()
	for i := range 8 {
		put(t, r, fmt.Sprint("s", i), strings.Repeat("x", 6000), fmt.Sprint("marked", i))
	}
	if err := r.data.State.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.rotBlocks("n1", "marked3")
	r = c.forget("n1")
	c.leader()
	read := func(name string) error {
		_, err := r.Query(context.Background(), &turn.Read{Key: key(name), From: turn.FromAfter, Limit: 9},
			turn.Consistency{})
		return err
	}
	for range 2 {
		if err := read("s3"); turn.KindOf(err) != turn.Corrupt {
			t.Errorf("the damaged session: %v", err)
		}
		if err := read("s4"); err != nil {
			t.Errorf("a whole session: %v", err)
		}
	}
	put(t, r, "s4", "more")
}
