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

	"github.com/turnlog/turnlog/fsm/internal/statehash"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
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
				len(c.rig.log), c.steps, c.images, c.between)
		})
	}
}

type powerCut struct {
	t    *testing.T
	rnd  *rand.Rand
	disk *powerDisk
	cuts []cut
	gen  *generator
	rig  *rig // on the disk whose power is cut

	outcomes map[uint64][]Outcome
	sent     []codec.Command
	number   uint64
	stamp    int64
	claim    claim // the last one
	steps    int   // writes, syncs and changes of folders

	hashes  map[uint64]string // of the state after each entry, by a machine that never restarts
	images  int
	between int
}

// claim is what a machine said, and was given, up to a moment.
type claim struct {
	durable, given uint64 // the entry up to which it said that its state is durable, and the last one given
	most           uint64 // the highest one ever said to be durable
}

// cut is a moment at which the power may be cut.
type cut struct {
	disk  *simdisk.Disk
	claim claim
	how   string
}

func newPowerCut(t *testing.T, seed uint64) *powerCut {
	rnd := rand.New(rand.NewPCG(seed, 77))
	c := &powerCut{
		t: t, rnd: rnd, gen: &generator{rnd: rnd, model: newModel()},
		outcomes: make(map[uint64][]Outcome), hashes: make(map[uint64]string), stamp: 1_000_000,
	}
	c.disk = newPowerDisk(t, c.beforeOp)
	c.rig = &rig{t: t, dir: t.TempDir(), disk: c.disk}
	c.rig.open()
	c.claims(c.rig.m, c.rig.index)
	t.Cleanup(func() { _ = c.rig.m.Close() })
	return c
}

// claims notes what the machine says is durable, and the last entry that it was given.
func (c *powerCut) claims(m *Machine, given uint64) {
	c.disk.settle()
	c.claim.durable, _ = m.Durable()
	c.claim.given = given
	c.claim.most = max(c.claim.most, c.claim.durable)
}

// beforeOp may cut the power before each sync.
func (c *powerCut) beforeOp(op simdisk.Op) {
	if op.Kind == simdisk.Sync || op.Kind == simdisk.SyncDir {
		c.mayCut(op.String())
	}
	if op.Changes() {
		c.steps++
	}
}

func (c *powerCut) mayCut(before string) {
	c.cuts = append(c.cuts, cut{c.disk.Kill(), c.claim,
		fmt.Sprintf("power cut after %d steps, before %s", c.steps, before)})
}

func (c *powerCut) run(steps int) {
	c.disk.full = func() bool { return c.rnd.IntN(150) == 0 }
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
		c.claims(c.rig.m, c.rig.index)
	}
	c.flush()
	c.mayCut("the end")
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
		c.claims(c.rig.m, c.rig.index)
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
	c.disk.quietly(c.rig.restart)
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
	c.claims(m, donor.index)
	for {
		err := m.Restore(bytes.NewReader(dump))
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || m.Err() != nil {
			c.t.Fatal(err)
		}
	}
	c.claims(m, c.rig.index)
}

// cutEverywhere examines what each cut can leave of the disk.
func (c *powerCut) cutEverywhere(brief bool) {
	for i, cut := range c.cuts {
		for n := range cut.disk.Unsynced(c.rig.dir) + 1 {
			c.examineNames(cut, n, brief)
		}
		c.cuts[i].disk = nil
	}
}

// examineNames examines what can be left with the first n unsynced changes of names in the
// machine's folder: now with the folder of block files as it was synced last, now with what was
// done to it since.
func (c *powerCut) examineNames(cut cut, n int, brief bool) {
	firstNames := simdisk.Choose("the first names", func(change simdisk.Change) bool { return change.At < n })
	var named [2]*simdisk.Disk
	for i, blocks := range []simdisk.Policy{simdisk.LoseAll, simdisk.KeepAll} {
		named[i] = cut.disk.CrashFolders(func(dir string) simdisk.Policy {
			if filepath.Base(dir) == "blocks" {
				return blocks
			}
			return firstNames
		}, c.rnd)
	}
	store := filepath.Join(c.rig.dir, "state.db")
	if _, err := named[0].Open(store); err != nil && cut.claim.most == 0 {
		return // a new machine again
	} else if err != nil {
		c.t.Fatalf("%s: there may be no %s, although entry %d is said to be durable", cut.how, "state.db",
			cut.claim.most)
	}
	writes := named[0].Unsynced(store)
	for _, p := range policies(writes, brief) {
		how := fmt.Sprintf("%s, %d new names, %s of %d writes left", cut.how, n, p.Name, writes)
		c.examine(named[c.images%2].Crash(p, c.rnd), cut.claim, how)
	}
}

// policies returns those to be tried on a number of pending writes: for all of
// them, or, if brief, the most telling ones.
func policies(writes int, brief bool) []simdisk.Policy {
	if writes == 0 {
		return []simdisk.Policy{simdisk.LoseAll}
	}
	sectors := func(name string, rest int64) simdisk.Policy {
		return simdisk.Choose(name, func(c simdisk.Change) bool { return c.Sector%2 == rest })
	}
	one := func(name string, write int) simdisk.Policy {
		return simdisk.Choose(name, func(c simdisk.Change) bool { return c.Write == write })
	}
	allBut := func(name string, write int) simdisk.Policy {
		return simdisk.Choose(name, func(c simdisk.Change) bool { return c.Write != write })
	}
	all := []simdisk.Policy{
		simdisk.LoseAll, simdisk.KeepAll, sectors("even sectors", 0), sectors("odd sectors", 1),
		one("the last write", writes-1), allBut("all but the last write", writes-1),
		simdisk.KeepSubset, simdisk.KeepSubset,
	}
	if brief {
		return all
	}
	for i := range writes {
		all = append(all, one("one write", i), allBut("all but one write", i))
	}
	for range 8 {
		all = append(all, simdisk.KeepSubset)
	}
	return all
}

func (c *powerCut) examine(left *simdisk.Disk, said claim, how string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			c.t.Fatalf("%s: panic: %v\n%s", how, r, debug.Stack())
		}
	}()
	c.images++
	root := c.t.TempDir()
	defer os.RemoveAll(root)
	if err := left.CopyOut(root); err != nil {
		c.t.Fatal(err)
	}
	dir := filepath.Join(root, c.rig.dir)
	m := c.openImage(dir, how)
	defer m.Close()
	index, _ := m.Applied()
	if index < said.durable || index > said.given {
		c.t.Fatalf("%s: the state is that after entry %d; %d was durable, %d the last one given", how, index,
			said.durable, said.given)
	}
	if index > said.durable {
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
	if err := storeDB(c.t, m).View(func(tx *bbolt.Tx) error {
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
	if (a.Err == nil) != (b.Err == nil) || a.Err != nil &&
		(a.Err.Kind != b.Err.Kind || a.Err.Revision != b.Err.Revision) {
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
type unsyncedDisk struct{ store.OSDisk }

func (d unsyncedDisk) OpenDB(path string, o *bbolt.Options) (*bbolt.DB, error) {
	o.NoSync, o.NoGrowSync = true, true
	return d.OSDisk.OpenDB(path, o)
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
	tx, err := m.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	if sum, err = statehash.Of(tx); err != nil {
		t.Fatal(err)
	}
	return sum
}
