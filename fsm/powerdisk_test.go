package fsm

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"go.etcd.io/bbolt"
)

const (
	sector    = 512
	pageBytes = 4096
)

// powerDisk passes everything on to real files and keeps a record of it, from
// which it makes what could be left on the disk if the power had been cut at any
// moment: all that was synced, and of the rest any sectors.
//
// bbolt's writes are seen one by one. Its syncs are not, but bbolt makes them before
// and after it writes a page with its root, unless NoSync is set; what else syncs
// goes through the disk. It is for one goroutine.
type powerDisk struct {
	t     testing.TB
	fault func() error // what the next write fails with, half done; nil: nothing
	names map[string]*powerFile
	dbs   map[*bbolt.DB]*powerFile
	steps []powerStep
}

type powerFile struct {
	id     int
	db     *bbolt.DB // open, or nil
	rooted bool      // a root was written, the sync after it has not been noted yet
	size   int64
}

type stepKind int

const (
	stepCreate stepKind = iota
	stepGrow
	stepWrite
	stepSync
	stepRename
	stepSyncDir
	stepCreateBlocks
	stepRemoveBlocks
	stepSyncBlocksDir
	stepClaim
)

type powerStep struct {
	kind           stepKind
	file           int
	off            int64 // of a write; the new size
	data           []byte
	name, to       string
	durable, given uint64 // of a claim
}

func newPowerDisk(t testing.TB) *powerDisk {
	return &powerDisk{t: t, fault: func() error { return nil }, names: make(map[string]*powerFile), dbs: make(map[*bbolt.DB]*powerFile)}
}

func (d *powerDisk) note(s powerStep) { d.steps = append(d.steps, s) }

// settle notes the syncs that bbolt has made by now.
func (d *powerDisk) settle() {
	for _, f := range d.dbs {
		if f.rooted && !f.db.NoSync {
			d.note(powerStep{kind: stepSync, file: f.id})
		}
		f.rooted = false
	}
}

func (d *powerDisk) open(path string, o *bbolt.Options) (*bbolt.DB, error) {
	d.settle()
	name := filepath.Base(path)
	_, statErr := os.Stat(path)
	db, err := osDisk{}.open(path, o)
	if err != nil {
		return nil, err
	}
	if statErr != nil {
		f := &powerFile{id: len(d.steps)}
		d.names[name] = f
		d.note(powerStep{kind: stepCreate, file: f.id, name: name})
		b, err := os.ReadFile(path)
		if err != nil {
			d.t.Fatal(err)
		}
		f.size = int64(len(b))
		d.note(powerStep{kind: stepWrite, file: f.id, data: b})
		d.note(powerStep{kind: stepSync, file: f.id})
	}
	f := d.names[name]
	if f == nil {
		d.t.Fatalf("%s was there before it was created", name)
	}
	if f.db != nil {
		delete(d.dbs, f.db)
	}
	f.db, d.dbs[db] = db, f
	d.intercept(db, f)
	return db, nil
}

// intercept has d see every write of db.
func (d *powerDisk) intercept(db *bbolt.DB, f *powerFile) {
	hook := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	if !hook.IsValid() {
		d.t.Fatal("bbolt has no ops.writeAt any more: find another way to see its writes")
	}
	p := (*func([]byte, int64) (int, error))(unsafe.Pointer(hook.UnsafeAddr()))
	write := *p
	*p = func(b []byte, off int64) (int, error) {
		d.settle()
		if info, err := os.Stat(db.Path()); err == nil && info.Size() > f.size {
			// bbolt syncs a file that it has made longer.
			f.size = info.Size()
			d.note(powerStep{kind: stepGrow, file: f.id, off: f.size})
		}
		root := off < 2*pageBytes
		if root && !db.NoSync {
			d.note(powerStep{kind: stepSync, file: f.id})
		}
		err := d.fault()
		switch {
		case err != nil && root:
			b = nil // a single page: whole or not at all
		case err != nil:
			b = b[:len(b)/2]
		}
		d.note(powerStep{kind: stepWrite, file: f.id, off: off, data: slices.Clone(b)})
		n, werr := write(b, off)
		if err == nil {
			err = werr
			f.rooted = root
		}
		return n, err
	}
}

func (d *powerDisk) sync(db *bbolt.DB) error {
	d.settle()
	d.note(powerStep{kind: stepSync, file: d.dbs[db].id})
	return nil // no real power will be cut
}

func (d *powerDisk) rename(from, to string) error {
	d.settle()
	from, to, dir := filepath.Base(from), filepath.Base(to), filepath.Dir(from)
	d.note(powerStep{kind: stepRename, name: from, to: to})
	d.names[to] = d.names[from]
	delete(d.names, from)
	return osDisk{}.rename(filepath.Join(dir, from), filepath.Join(dir, to))
}

func (d *powerDisk) syncDir(string) error {
	d.settle()
	d.note(powerStep{kind: stepSyncDir})
	return nil
}

// claim notes what the machine says is durable, and the last entry that it was given.
func (d *powerDisk) claim(m *Machine, given uint64) {
	d.settle()
	durable, _ := m.Durable()
	d.note(powerStep{kind: stepClaim, durable: durable, given: given})
}

// platter is what is on the disk, and what is on its way there.
type platter struct {
	files   map[int]*platterFile
	names   map[string]int // durable ones
	pending []powerStep    // creations and renames
	// the same of the folder of block files
	blocks        map[string]int
	pendingBlocks []powerStep
	claim         powerStep // the last one
	most          uint64    // the highest durable index claimed
}

type platterFile struct {
	size    int64
	pages   map[int64][]byte
	pending []powerStep // writes
}

func newPlatter() *platter {
	return &platter{files: make(map[int]*platterFile), names: make(map[string]int), blocks: make(map[string]int)}
}

func (p *platter) take(s powerStep) {
	switch s.kind {
	case stepCreate:
		p.files[s.file] = &platterFile{pages: make(map[int64][]byte)}
		p.pending = append(p.pending, s)
	case stepRename:
		p.pending = append(p.pending, s)
	case stepCreateBlocks:
		p.files[s.file] = &platterFile{pages: make(map[int64][]byte)}
		p.pendingBlocks = append(p.pendingBlocks, s)
	case stepRemoveBlocks:
		p.pendingBlocks = append(p.pendingBlocks, s)
	case stepSyncBlocksDir:
		p.blocks, p.pendingBlocks = p.blocksAfter(true), nil
	case stepSyncDir:
		p.names, p.pending = p.namesAfter(len(p.pending)), nil
	case stepGrow:
		p.files[s.file].size = s.off
	case stepWrite:
		p.files[s.file].pending = append(p.files[s.file].pending, s)
	case stepSync:
		f := p.files[s.file]
		*f = *f.left(func(int, int64) bool { return true })
	case stepClaim:
		p.claim = s
		p.most = max(p.most, s.durable)
	}
}

// namesAfter returns the directory with the first n of its pending changes.
func (p *platter) namesAfter(n int) map[string]int {
	names := maps.Clone(p.names)
	for _, s := range p.pending[:n] {
		if s.kind == stepCreate {
			names[s.name] = s.file
			continue
		}
		names[s.to] = names[s.name]
		delete(names, s.name)
	}
	return names
}

// left returns the file with those sectors of its pending writes that keep says.
func (f *platterFile) left(keep func(write int, sector int64) bool) *platterFile {
	out := &platterFile{size: f.size, pages: maps.Clone(f.pages)}
	for i, w := range f.pending {
		next := int64(0)
		for at := int64(0); at < int64(len(w.data)); at = next {
			next = at + sector - (w.off+at)%sector
			if !keep(i, (w.off+at)/sector) {
				continue
			}
			end := min(next, int64(len(w.data)))
			n := (w.off + at) / pageBytes
			b := make([]byte, pageBytes)
			copy(b, out.pages[n])
			copy(b[(w.off+at)%pageBytes:], w.data[at:end])
			out.pages[n] = b
			out.size = max(out.size, w.off+end)
		}
	}
	return out
}

func (f *platterFile) write(path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := out.Truncate(f.size); err != nil {
		return err
	}
	for n, b := range f.pages {
		if _, err := out.WriteAt(b[:min(pageBytes, f.size-n*pageBytes)], n*pageBytes); err != nil {
			return err
		}
	}
	return nil
}

// policy says which sectors of the writes that were not synced reached the disk.
type policy struct {
	name string
	keep func(write int, sector int64) bool
}

// policies returns those to be tried on a number of pending writes: for all of
// them, or, if brief, the most telling ones.
func policies(writes int, rnd *rand.Rand, brief bool) []policy {
	ps := []policy{
		{"nothing", func(int, int64) bool { return false }},
		{"everything", func(int, int64) bool { return true }},
	}
	if writes == 0 {
		return ps[:1]
	}
	ps = append(ps,
		policy{"even sectors", func(_ int, s int64) bool { return s%2 == 0 }},
		policy{"odd sectors", func(_ int, s int64) bool { return s%2 == 1 }},
		policy{"the last write", func(w int, _ int64) bool { return w == writes-1 }},
		policy{"all but the last write", func(w int, _ int64) bool { return w < writes-1 }},
	)
	randoms := 2
	if !brief {
		randoms = 10
		for i := range writes {
			ps = append(ps,
				policy{"one write", func(w int, _ int64) bool { return w == i }},
				policy{"all but one write", func(w int, _ int64) bool { return w != i }})
		}
	}
	for range randoms {
		seed := rnd.Uint64()
		ps = append(ps, policy{"random sectors", func(w int, s int64) bool {
			return rand.New(rand.NewPCG(seed, uint64(w)<<32|uint64(s))).IntN(2) == 0
		}})
	}
	return ps
}
