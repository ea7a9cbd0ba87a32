package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// TestPowerCut cuts the power between any two syncs of random runs, with flushes,
// restores, restarts and full disks in them. Whatever was not synced may be
// there or not, sector by sector. What is left must open; hold everything that the
// machine said was durable and nothing that it was not given; be exactly the state
// after the entry that it says it is at; and, with the log applied from its
// start, answer as before and end as if nothing had happened.
//
// TURNLOG_SEEDS is how many runs there are, with every policy tried.
func TestPowerCut(t *testing.T) {
	runs, brief := 2, true
	if n, err := strconv.Atoi(os.Getenv("TURNLOG_SEEDS")); err == nil {
		runs, brief = n, false
	}
	if testing.Short() {
		runs = 1
	}
	first := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("TURNLOG_SEED"), 10, 64); err == nil {
		first = n
	}
	for seed := first; seed < first+uint64(runs); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			c := newPowerCut(t, seed)
			c.run(40 + c.rnd.IntN(40))
			c.cutEverywhere(brief)
			t.Logf("%d entries, %d writes and syncs, %d states of the disk, %d of them between two states of the log",
				len(c.rig.log), len(c.disk.steps), c.images, c.between)
		})
	}
}

type powerCut struct {
	t    *testing.T
	rnd  *rand.Rand
	disk *powerDisk
	gen  *generator
	rig  *rig // on the disk whose power is cut

	outcomes map[uint64][]Outcome
	sent     []codec.Command
	number   uint64
	stamp    int64

	hashes  map[uint64]string // of the state after each entry, by a machine that never restarts
	images  int
	between int
}

func newPowerCut(t *testing.T, seed uint64) *powerCut {
	rnd := rand.New(rand.NewPCG(seed, 77))
	c := &powerCut{
		t: t, rnd: rnd, disk: newPowerDisk(t), gen: &generator{rnd: rnd, model: newModel()},
		outcomes: make(map[uint64][]Outcome), hashes: make(map[uint64]string), stamp: 1_000_000,
	}
	c.rig = &rig{t: t, dir: t.TempDir(), disk: c.disk}
	c.rig.open()
	c.disk.claim(c.rig.m, c.rig.index)
	t.Cleanup(func() { _ = c.rig.m.Close() })
	return c
}

func (c *powerCut) run(steps int) {
	c.disk.fault = func() error {
		if c.rnd.IntN(150) == 0 {
			return &os.PathError{Op: "write", Path: storeName, Err: syscall.ENOSPC}
		}
		return nil
	}
	for range steps {
		switch c.rnd.IntN(14) {
		case 0, 1, 2:
			c.flush()
		case 3:
			c.restart()
		case 4:
			c.restore()
		case 5:
			c.stamp += turn.TombstoneTime / 3
		}
		c.entry()
		c.disk.claim(c.rig.m, c.rig.index)
	}
	c.flush()
}

// entry applies a few operations; some commands are sent again.
func (c *powerCut) entry() {
	c.stamp += int64(c.rnd.IntN(400))
	c.gen.model.advance(c.stamp)
	var cmds []codec.Command
	for range 1 + c.rnd.IntN(4) {
		op := c.gen.op()
		_, _ = c.gen.model.apply(op)
		b, err := codec.EncodeOp(op)
		if err != nil {
			c.t.Fatal(err)
		}
		c.number++
		cmds = append(cmds, codec.Command{Origin: 1 + c.number%3, Number: c.number, Op: b})
	}
	c.sent = append(c.sent, cmds...)
	if c.rnd.IntN(3) == 0 {
		cmds = append(cmds, c.sent[c.rnd.IntN(len(c.sent))])
	}
	out := c.rig.applyCommands(c.stamp, cmds...)
	c.outcomes[c.rig.index] = out
}

// flush flushes, again and again while the disk is full.
func (c *powerCut) flush() {
	for {
		err := c.rig.m.Flush(c.t.Context())
		if err == nil {
			_, err = c.rig.m.tidy()
		}
		c.disk.claim(c.rig.m, c.rig.index)
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.ENOSPC) {
			c.t.Fatal(err)
		}
	}
}

// restart kills the process: what was written is still there.
func (c *powerCut) restart() {
	fault := c.disk.fault
	c.disk.fault = func() error { return nil }
	c.rig.restart()
	c.disk.fault = fault
}

// restore gives the machine the dump of another one, which is ahead.
func (c *powerCut) restore() {
	donor := newRig(c.t)
	donor.applyLog(c.rig.log)
	m := c.rig.m
	c.rig.m = donor.m
	for range c.rnd.IntN(4) {
		c.entry()
	}
	donor.index = c.rig.index
	c.rig.m = m
	dump := donor.dump()
	c.disk.claim(m, donor.index)
	for {
		err := m.Restore(bytes.NewReader(dump))
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || m.Err() != nil {
			c.t.Fatal(err)
		}
	}
	c.disk.claim(m, c.rig.index)
}

// cutEverywhere examines the disk before each sync, and at the end.
func (c *powerCut) cutEverywhere(brief bool) {
	p := newPlatter()
	for i, s := range c.disk.steps {
		if s.kind == stepSync || s.kind == stepSyncDir || s.kind == stepSyncBlocksDir {
			c.cut(p, i, brief)
		}
		p.take(s)
	}
	c.cut(p, len(c.disk.steps), brief)
}

// cut examines what can be left of p.
func (c *powerCut) cut(p *platter, at int, brief bool) {
	for n := range len(p.pending) + 1 {
		names := p.namesAfter(n)
		id, ok := names[storeName]
		if !ok && p.most == 0 {
			continue // a new machine again
		}
		if !ok {
			c.t.Fatalf("before step %d: there may be no %s, although entry %d is said to be durable", at, storeName, p.most)
		}
		f := p.files[id]
		for _, pol := range policies(len(f.pending), c.rnd, brief) {
			c.examine(p, f, pol, fmt.Sprintf("power cut before step %d of %d, %d of %d new names, %s of %d writes left",
				at, len(c.disk.steps), n, len(p.pending), pol.name, len(f.pending)))
		}
	}
}

// image writes what is left of p under a policy: the state file, and the folder of
// block files, now as it was synced last, now with what was done to it since.
func (c *powerCut) image(p *platter, store *platterFile, pol policy) (dir string) {
	dir = c.t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, blocksDir), 0o700); err != nil {
		c.t.Fatal(err)
	}
	files := map[string]*platterFile{storeName: store}
	for name, id := range p.blocksAfter(c.images%2 == 0) {
		files[name] = p.files[id].left(pol.keep)
	}
	for name, f := range files {
		if err := f.write(filepath.Join(dir, name)); err != nil {
			c.t.Fatal(err)
		}
	}
	return dir
}

func (c *powerCut) examine(p *platter, f *platterFile, pol policy, how string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			c.t.Fatalf("%s: panic: %v\n%s", how, r, debug.Stack())
		}
	}()
	c.images++
	f = f.left(pol.keep)
	dir := c.image(p, f, pol)
	defer os.RemoveAll(dir)
	if err := checkTree(f); err != nil {
		c.t.Fatalf("%s: %v", how, err)
	}
	m := c.openImage(dir, how)
	defer m.Close()
	index, _ := m.Applied()
	if index < p.claim.durable || index > p.claim.given {
		c.t.Fatalf("%s: the state is that after entry %d; %d was durable, %d the last one given", how, index, p.claim.durable, p.claim.given)
	}
	if index > p.claim.durable {
		c.between++
	}
	if got := storeHash(c.t, m); got != c.hash(index) {
		c.t.Fatalf("%s: the state is not that after entry %d", how, index)
	}
	c.replay(m, index, how)
	if err := m.Flush(c.t.Context()); err != nil {
		c.t.Fatalf("%s, replayed: %v", how, err)
	}
	if got := storeHash(c.t, m); got != c.hash(c.rig.index) {
		c.t.Fatalf("%s, replayed: not the state after entry %d", how, c.rig.index)
	}
	if err := m.db.View(func(tx *bbolt.Tx) error {
		var errs []error
		for err := range tx.Check() {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}); err != nil {
		c.t.Fatalf("%s, replayed: %v", how, err)
	}
}

// replay applies the whole log. Entries that the state includes have no outcomes.
func (c *powerCut) replay(m *Machine, from uint64, how string) {
	for i, e := range c.rig.log {
		index := uint64(i + 1)
		got := m.Apply(index, 1, bytes.Clone(e))
		want := c.outcomes[index]
		if index <= from {
			want = nil
		}
		if !slices.EqualFunc(got, want, sameOutcome) {
			c.t.Fatalf("%s: entry %d has the outcomes\n %+v, had\n %+v", how, index, got, want)
		}
	}
	if err := m.Err(); err != nil {
		c.t.Fatalf("%s: %v", how, err)
	}
}

func sameOutcome(a, b Outcome) bool {
	if (a.Err == nil) != (b.Err == nil) || a.Err != nil && (a.Err.Kind != b.Err.Kind || a.Err.Revision != b.Err.Revision) {
		return false
	}
	return a.Origin == b.Origin && a.Number == b.Number && a.Skipped == b.Skipped && sameResult(a.Result, b.Result)
}

func (c *powerCut) openImage(dir, how string) *Machine {
	m, err := Open(Config{Dir: dir, FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler), disk: unsyncedDisk{}})
	if err != nil {
		c.t.Fatalf("%s: open: %v", how, err)
	}
	return m
}

// unsyncedDisk saves time where nothing crashes.
type unsyncedDisk struct{ osDisk }

func (d unsyncedDisk) open(path string, o *bbolt.Options) (*bbolt.DB, error) {
	o.NoSync, o.NoGrowSync = true, true
	return d.osDisk.open(path, o)
}

// hash returns the hash of the state after an entry, as a machine has it that was
// given the entries up to it and then flushed for the first time.
func (c *powerCut) hash(index uint64) string {
	if h, ok := c.hashes[index]; ok {
		return h
	}
	m := c.openImage(c.t.TempDir(), "a new machine")
	defer m.Close()
	for i, e := range c.rig.log[:index] {
		m.Apply(uint64(i+1), 1, bytes.Clone(e))
	}
	if err := m.Flush(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.hashes[index] = storeHash(c.t, m)
	return c.hashes[index]
}

// storeHash returns the hash of what is in the store.
func storeHash(t testing.TB, m *Machine) (sum string) {
	t.Helper()
	tx, err := m.reading()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.end()
	if sum, err = hashState(tx); err != nil {
		t.Fatal(err)
	}
	return sum
}
