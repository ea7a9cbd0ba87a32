package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// growing is a state that grows between backups.
type growing struct {
	t     testing.TB
	m     *fsm.Machine
	r     *rand.Rand
	index uint64
	now   int64 // cluster time
	made  int   // backups
	bytes int   // of the last dump
}

func newGrowing(t testing.TB) *growing {
	t.Helper()
	m, err := fsm.Open(fsm.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	g := &growing{t: t, m: m, r: rand.New(rand.NewPCG(7, 7))}
	g.apply(&codec.Epoch{ClusterID: "cluster"})
	return g
}

func (g *growing) apply(op turn.Op) {
	g.t.Helper()
	b, err := codec.EncodeOp(op)
	if err != nil {
		g.t.Fatal(err)
	}
	g.index++
	command := codec.Command{Origin: 1, Number: g.index, Op: b}
	out := g.m.Apply(g.index, 3, codec.AppendEntry(nil, 1000+g.now, []codec.Command{command}))
	if out[0].Err != nil {
		g.t.Fatal(out[0].Err)
	}
}

// append appends messages of so many bytes, which do not compress, to sessions.
func (g *growing) append(bytes int, sessions ...int) {
	g.t.Helper()
	for _, i := range sessions {
		data := make([]byte, bytes)
		for j := range data {
			data[j] = byte(g.r.Uint32())
		}
		g.apply(&turn.Append{Key: turn.Key{Namespace: "0", Name: fmt.Sprintf("s%05d", i)},
			Messages: []turn.NewMessage{{Data: data}}})
	}
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// dump returns what a node sends, and what the command says of it.
func (g *growing) dump() ([]byte, Description) {
	g.t.Helper()
	if err := g.m.Flush(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	d, err := g.m.Dump()
	if err != nil {
		g.t.Fatal(err)
	}
	defer d.Close()
	var dump bytes.Buffer
	if _, err := d.WriteTo(&dump); err != nil {
		g.t.Fatal(err)
	}
	g.made++
	g.bytes = dump.Len()
	return dump.Bytes(), Description{ID: fmt.Sprint("b", g.made), ClusterID: "cluster", NodeID: "n1", Index: g.index,
		Bytes: int64(dump.Len()), Created: time.Unix(1_700_000_000+int64(g.made), 0).UTC()}
}

// packBytesInTests is how long packs are, so that there are several.
const packBytesInTests = 128 << 10

func lockFolder(t testing.TB, f *Folder) *Repository {
	t.Helper()
	r, err := OpenRepository(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	r.packBytes = packBytesInTests
	return r
}

// backUp adds an incremental backup, as a process of its own does.
func (g *growing) backUp(f *Folder, keep int) (name string, s Stored) {
	g.t.Helper()
	dump, d := g.dump()
	r := lockFolder(g.t, f)
	i, err := r.Increment(g.t.Context(), d.ClusterID)
	if err != nil {
		g.t.Fatal(err)
	}
	name, holds, s, err := i.Add(g.t.Context(), d, bytes.NewReader(dump))
	if err == nil && keep > 0 {
		_, err = r.Rotate(g.t.Context(), name, keep)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		g.t.Fatal(err)
	}
	g.restores(f, name, dump)
	if holds.Index != g.index {
		g.t.Errorf("%s holds %+v", name, holds)
	}
	return name, s
}

// restores: a backup brings the dump that it was made of, byte by byte, and passes verification.
func (g *growing) restores(f *Folder, name string, dump []byte) {
	g.t.Helper()
	r, err := Open(g.t.Context(), f, name)
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, dump) {
		g.t.Fatalf("the dump has %d bytes, the backup brings %d: %v", len(dump), len(got), err)
	}
	if _, _, err := VerifyIn(g.t.Context(), f, name); err != nil {
		g.t.Errorf("%s: %v", name, err)
	}
}

func packs(t testing.TB, f *Folder) (n int, size int64) {
	t.Helper()
	all, err := f.List(t.Context(), packDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		size += o.Size
	}
	return len(all), size
}

// A backup of what has changed by a hundredth writes about a hundredth; one of what has not changed writes no pack.
func TestIncrementsAreSmall(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(16<<10, upTo(1500)...)
	_, first := g.backUp(f, 0)
	if first.New != first.Chunks || first.Chunks < 100 || first.Bytes < 20<<20 {
		t.Errorf("the first one stores %+v", first)
	}
	g.append(16<<10, 1500, 1501, 1502, 1503, 1504, 3, 4, 5, 6, 7, 700, 701, 702, 703, 704)
	_, second := g.backUp(f, 0)
	t.Logf("of %d bytes, a change of one in a hundred writes %d", first.Bytes, second.Bytes)
	if second.Bytes > first.Bytes/25 || second.New == 0 {
		t.Errorf("of %d bytes, it writes %d: %+v", first.Bytes, second.Bytes, second)
	}
	if _, third := g.backUp(f, 0); third.Bytes > first.Bytes/100 { // it leaves packs of which it needs little
		t.Errorf("of no change it writes %+v", third)
	}
	if _, fourth := g.backUp(f, 0); fourth.New != 0 || fourth.Resumed != 0 {
		t.Errorf("of no change it writes %+v", fourth)
	}
}

// Rotation removes the packs of which no backup needs anything.
func TestRotationCollectsPacks(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(8<<10, upTo(100)...)
	for range 4 {
		g.append(8<<10, upTo(100)...) // into all chunks
		name, _ := g.backUp(f, 1)
		checkCollected(t, f, name, name)
	}
	if n, size := packs(t, f); size > int64(g.bytes)*3/2 {
		t.Errorf("%d packs with %d bytes, of a dump of %d", n, size, g.bytes)
	}
}

// A backup does not rest on a pack of which it needs little: such packs would stay for ever.
func TestSparsePacksAreWrittenAgain(t *testing.T) {
	m := manifest{packs: []packInfo{{"packs/sparse.tlp", 1000}, {"packs/dense.tlp", 1000}}, places: []place{
		{pack: 0, stored: 499, sum: digest{1}}, {pack: 1, stored: 400, sum: digest{2}},
		{pack: 1, stored: 100, sum: digest{3}}}}
	k := &knownChunks{chunks: map[digest]place{}}
	k.takeBackup(&m, map[string]int64{"packs/sparse.tlp": 1000, "packs/dense.tlp": 1000})
	if _, ok := k.chunks[digest{1}]; ok || len(k.chunks) != 2 || k.again != "" {
		t.Errorf("it rests on %v (%s)", k.chunks, k.again)
	}
}

// A whole backup and incremental ones are rotated together.
func TestWholeAndIncrementalBackupsRotate(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(4<<10, upTo(50)...)
	g.backUp(f, 0)
	g.append(10, 1)
	dump, d := g.dump()
	r := lockFolder(t, f)
	name, err := r.Add(t.Context(), d, func(w io.Writer) error {
		_, err := Write(w, d, bytes.NewReader(dump))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := r.Rotate(t.Context(), name, 1); err != nil || len(removed) != 1 || !isSplit(removed[0]) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if n, _ := packs(t, f); n != 0 {
		t.Errorf("%d packs are left", n)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// A new backup rests on packs of earlier ones. If such a pack has been damaged since, the backups before it, which may
// be sound, are not removed for it.
func TestRotatedPacksAreReadBack(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(4<<10, upTo(50)...)
	dump, d := g.dump()
	r := lockFolder(t, f)
	whole, err := r.Add(t.Context(), d, func(w io.Writer) error {
		_, err := Write(w, d, bytes.NewReader(dump))
		return err
	})
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	g.append(10, 1)
	g.backUp(f, 0)
	before, err := filepath.Glob(f.Path("packs/*.tlp"))
	if err != nil {
		t.Fatal(err)
	}
	g.append(10, 1)
	dump, d = g.dump()
	r = lockFolder(t, f)
	i, err := r.Increment(t.Context(), d.ClusterID)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _, err := i.Add(t.Context(), d, bytes.NewReader(dump))
	if err != nil {
		t.Fatal(err)
	}
	needs, err := readPacks(t.Context(), r, name)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(needs, func(p packInfo) bool { return slices.Contains(before, f.Path(p.Name)) })
	if at < 0 {
		t.Fatalf("of %v, it rests on %v", before, needs)
	}
	pack := f.Path(needs[at].Name)
	b, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(pack, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if removed, err := r.Rotate(t.Context(), name, 1); !turn.Is(err, turn.Corrupt) || len(removed) > 0 ||
		!strings.Contains(err.Error(), pack) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, _, err := VerifyIn(t.Context(), r, whole); err != nil {
		t.Error(err)
	}
	if err := errors.Join(r.Close(), os.Remove(pack)); err != nil { // which the error names
		t.Fatal(err)
	}
	g.append(10, 1)
	g.backUp(f, 1) // and verifies it
}

// What an interrupted backup has written is not written again, although the state went on.
func TestInterruptedIncrementIsResumed(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(8<<10, upTo(500)...)
	dump, d := g.dump()
	r := lockFolder(t, f)
	broken := io.MultiReader(bytes.NewReader(dump[:len(dump)*3/4]), iotest.ErrReader(errors.New("the node died")))
	i, err := r.Increment(t.Context(), d.ClusterID)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := i.Add(t.Context(), d, broken); err == nil || !strings.Contains(err.Error(), "node died") {
		t.Fatalf("the backup of a node that dies: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	g.append(8<<10, 500)
	_, s := g.backUp(f, 0)
	if s.Resumed < s.Chunks/2 || s.New > s.Chunks*2/3 {
		t.Errorf("after an interruption at three quarters: %+v", s)
	}
	_, s = g.backUp(f, 1)
	if s.New != 0 || s.Resumed != 0 {
		t.Errorf("the next one: %+v", s)
	}
	if n, size := packs(t, f); size > 6<<20 {
		t.Errorf("%d packs with %d bytes are left", n, size)
	}
}

// A pack that is lost or cut short is found, and the next backup writes again what it had.
func TestLostPackIsWrittenAgain(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(8<<10, upTo(100)...)
	name, _ := g.backUp(f, 0)
	all, err := f.List(t.Context(), packDir)
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	if err := f.Remove(t.Context(), all[1].Name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := VerifyIn(t.Context(), f, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a pack: %v", err)
	}
	g.append(10, 1)
	_, s := g.backUp(f, 0)
	if s.New == 0 || !strings.Contains(s.Again, all[1].Name) {
		t.Errorf("the next one: %+v", s)
	}
	if _, _, err := VerifyIn(t.Context(), f, name); err == nil {
		t.Error("what is lost is there again")
	}
}

// Packs are kept as long as a backup that may need them cannot be read.
func TestUnreadableBackupKeepsPacks(t *testing.T) {
	g, f := newGrowing(t), NewFolder(t.TempDir())
	g.append(8<<10, upTo(60)...)
	first, _ := g.backUp(f, 0)
	g.append(8<<10, upTo(60)...)
	g.backUp(f, 0)
	n, _ := packs(t, f)
	if err := f.Remove(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), first, 10, func(w io.Writer) error {
		_, err := io.WriteString(w, "damaged")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r := lockFolder(t, f)
	defer r.Close()
	if err := r.Collect(t.Context()); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("it says %v", err)
	}
	if left, _ := packs(t, f); left != n {
		t.Errorf("of %d packs, %d are left", n, left)
	}
}

// Whichever byte of a backup or of its packs is damaged, that is found.
func TestDamageOfIncrementsIsFound(t *testing.T) {
	g, disk := newGrowing(t), simdisk.New()
	f := &Folder{"/b", disk}
	g.append(3000, upTo(40)...)
	name, _ := g.backUp(f, 0)
	objects, err := f.List(t.Context(), packDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range append(objects, Object{Name: name}) {
		in, size, err := f.Read(t.Context(), o.Name, 0)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		step := max(1, size/200)
		index := indexStart(t, f, o)
		for at := int64(0); at < size; at += step {
			if err := disk.Rot(f.Path(o.Name), at, 1); err != nil {
				t.Fatal(err)
			}
			_, _, err := VerifyIn(t.Context(), f, name)
			if isPack(o.Name) && (at < 8 || at >= index) { // what only a resumption reads
				_, err = readIndex(t.Context(), f, packInfo{o.Name, size})
				if at < 8 {
					continue
				}
			}
			if !turn.Is(err, turn.Corrupt) && !turn.Is(err, turn.Newer) {
				t.Errorf("byte %d of %d of %s: %v", at, size, o.Name, err)
			}
			if err := disk.Rot(f.Path(o.Name), at, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// indexStart returns where the index of a pack begins.
func indexStart(t *testing.T, f *Folder, o Object) int64 {
	t.Helper()
	if !isPack(o.Name) {
		return 0
	}
	places, err := readIndex(t.Context(), f, packInfo{o.Name, o.Size})
	if err != nil {
		t.Fatal(err)
	}
	last := places[len(places)-1]
	return int64(last.offset) + int64(last.stored)
}

// TestPowerCutDuringIncrements cuts the power at every operation of three backups with rotation. Whatever is
// found after it: backups that are listed are whole, and the last one that was complete is among them; and the next
// backup succeeds, and leaves no pack that none needs.
func TestPowerCutDuringIncrements(t *testing.T) {
	g, disk := newGrowing(t), simdisk.New()
	r := rand.New(rand.NewPCG(1, 1))
	policies := simdisk.Policies()
	var complete string
	type cut struct {
		disk     *simdisk.Disk
		complete string
		what     string
	}
	var cuts []cut
	var mu sync.Mutex // packs are written beside each other
	disk.Observe(func(op simdisk.Op) {
		mu.Lock()
		defer mu.Unlock()
		if op.Changes() && (op.Kind != simdisk.Write || r.IntN(4) == 0) {
			p := policies[len(cuts)%len(policies)]
			name := fmt.Sprintf("cut %d, before %v, %s", len(cuts), op, p.Name)
			cuts = append(cuts, cut{disk.Crash(p, r), complete, name})
		}
	})
	g.append(8<<10, upTo(40)...)
	f := &Folder{"/b", disk}
	for i := range 4 {
		g.append(8<<10, 40+i, i)
		g.apply(&turn.Delete{Keys: []turn.Key{{Namespace: "0", Name: fmt.Sprintf("s%05d", 20+i)}}})
		complete, _ = g.backUp(f, 2)
	}
	disk.Observe(nil)
	g.append(8<<10, 60)
	t.Logf("%d power cuts", len(cuts))
	for _, c := range cuts {
		f := &Folder{"/b", c.disk}
		all, err := List(t.Context(), f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: %v", c.what, err)
		}
		found := c.complete == ""
		for _, e := range all {
			found = found || e.Name >= c.complete // or a later one, which was complete but for its answer
			if _, _, err := VerifyIn(t.Context(), f, e.Name); err != nil {
				t.Errorf("%s: %s: %v", c.what, e.Name, err)
			}
		}
		if !found {
			t.Errorf("%s: %s is lost", c.what, c.complete)
		}
		name, _ := g.backUp(f, 1)
		checkCollected(t, f, name, c.what)
	}
}

// checkCollected: there are the packs that a backup needs, and no others.
func checkCollected(t *testing.T, f *Folder, name, what string) {
	t.Helper()
	needed, err := readPacks(t.Context(), f, name)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := packs(t, f); n != len(needed) {
		t.Errorf("%s: %d packs are there, %d are needed", what, n, len(needed))
	}
}
