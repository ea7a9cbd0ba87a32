package blockfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs"
)

// bench is a set and the references that an index would hold.
type bench struct {
	t       *testing.T
	dir     string
	opts    Options
	set     *Set
	extents Extents
	refs    map[string]Ref
}

func newBench(t *testing.T, opts Options) *bench {
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "blocks"), opts: opts, extents: make(Extents),
		refs: make(map[string]Ref)}
	b.open()
	t.Cleanup(func() { _ = b.set.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	set, err := Open(b.dir, b.extents, b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	b.set = set
}

func (b *bench) reopen() {
	b.t.Helper()
	if err := b.set.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func key(i int) []byte { return fmt.Appendf(nil, "%016d", i) }

func blob(i, size int) []byte { return bytes.Repeat([]byte{byte(i)}, size) }

func (b *bench) append(i, size int) {
	b.t.Helper()
	ref, err := b.set.Append(key(i), blob(i, size))
	if err != nil {
		b.t.Fatal(err)
	}
	b.refs[string(key(i))] = ref
}

func (b *bench) commit(drop ...uint64) {
	b.t.Helper()
	grown, err := b.set.Sync()
	if err != nil {
		b.t.Fatal(err)
	}
	for n, extent := range grown {
		b.extents[n] = extent
	}
	for _, n := range drop {
		delete(b.extents, n)
	}
	if err := b.set.Committed(drop); err != nil {
		b.t.Fatal(err)
	}
}

type source interface {
	Read(buf, key []byte, ref Ref) ([]byte, error)
}

func (b *bench) mustRead(from source, i, size int) {
	b.t.Helper()
	got, err := from.Read(nil, key(i), b.refs[string(key(i))])
	if err != nil {
		b.t.Fatalf("blob %d: %v", i, err)
	}
	if !bytes.Equal(got, blob(i, size)) {
		b.t.Fatalf("blob %d has %d bytes that are not those appended", i, len(got))
	}
}

func (b *bench) names() []string {
	b.t.Helper()
	names, err := vfs.OS{}.List(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

// What was committed is there after a restart, and what was not is not; files roll
// over at their size, a blob larger than that has one for itself.
func TestAppendCommitReopen(t *testing.T) {
	b := newBench(t, Options{FileBytes: 1000, BufferBytes: 300})
	sizes := []int{0, 1, 299, 300, 5000, 700, 10}
	for i, size := range sizes {
		b.append(i, size)
		b.mustRead(b.set, i, size) // also while it is buffered
	}
	b.commit()
	for range 2 {
		for i, size := range sizes {
			b.mustRead(b.set, i, size)
		}
		if len(b.names()) != len(b.extents) || len(b.extents) < 2 {
			t.Fatalf("files %v, extents %v", b.names(), b.extents)
		}
		b.append(100, 2000) // not committed
		b.append(101, 2000)
		b.reopen()
	}
	b.append(7, 50)
	b.commit()
	b.reopen()
	b.mustRead(b.set, 7, 50)
}

func TestRollback(t *testing.T) {
	b := newBench(t, Options{FileBytes: 1000, BufferBytes: 100})
	b.append(1, 400)
	b.commit()
	for i := range 10 {
		b.append(10+i, 400)
	}
	if _, err := b.set.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := b.set.Rollback(); err != nil {
		t.Fatal(err)
	}
	if len(b.names()) != 1 {
		t.Fatalf("files %v are left", b.names())
	}
	b.append(2, 300)
	b.append(3, 800)
	b.commit()
	b.reopen()
	b.mustRead(b.set, 1, 400)
	b.mustRead(b.set, 2, 300)
	b.mustRead(b.set, 3, 800)
}

// A dropped file is gone from the folder at once, and from memory when the last pin
// from before goes, whatever order pins go in.
func TestPinKeepsDroppedFilesReadable(t *testing.T) {
	b := newBench(t, Options{FileBytes: 100})
	for i := range 4 {
		b.append(i, 200) // a file each
	}
	b.commit()
	before := b.set.Pin()
	b.commit(1)
	between := b.set.Pin()
	b.commit(2)
	after := b.set.Pin()
	if got := len(b.names()); got != 2 {
		t.Fatalf("files %v", b.names())
	}
	b.mustRead(before, 0, 200)
	b.mustRead(between, 1, 200)
	after.Release()
	before.Release()
	if _, err := between.Read(nil, key(0), b.refs[string(key(0))]); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("file 1 was dropped before this pin and can be read: %v", err)
	}
	b.mustRead(between, 1, 200)
	between.Release()
	if len(b.set.files) != 2 || len(b.set.epochs) != 1 {
		t.Fatalf("%d files are open in %d epochs", len(b.set.files), len(b.set.epochs))
	}
	b.mustRead(b.set, 3, 200)
}

func TestWalk(t *testing.T) {
	b := newBench(t, Options{})
	for i := range 10 {
		b.append(i, i*10)
	}
	b.commit()
	var seen []string
	next := int64(0)
	for rounds := 0; next < b.extents[1]; rounds++ {
		var err error
		n := 0
		next, err = b.set.Walk(1, next, b.extents[1], func(k []byte, ref Ref) (bool, error) {
			if ref != b.refs[string(k)] {
				t.Fatalf("walked to %v, the reference of %s is %v", ref, k, b.refs[string(k)])
			}
			seen = append(seen, string(k))
			n++
			return n < 3, nil
		})
		if err != nil || rounds > 4 {
			t.Fatalf("round %d: %v", rounds, err)
		}
	}
	if len(seen) != 10 || seen[9] != string(key(9)) {
		t.Fatalf("walked over %q", seen)
	}
}

// Damage is told as such, never answered with.
func TestDamage(t *testing.T) {
	first := func(b *bench) string { return filepath.Join(b.dir, b.names()[0]) }
	for name, c := range map[string]struct {
		damage func(t *testing.T, b *bench)
		want   error
		opens  bool
	}{
		"a file is missing": {func(t *testing.T, b *bench) { must(t, os.Remove(first(b))) }, ErrCorrupt, false},
		"a file is short":   {func(t *testing.T, b *bench) { must(t, os.Truncate(first(b), 100)) }, ErrCorrupt, false},
		"not a block file":  {func(t *testing.T, b *bench) { overwrite(t, first(b), 0, 'x') }, ErrCorrupt, false},
		"a newer version": {func(t *testing.T, b *bench) { overwrite(t, first(b), int64(len(magic)), version+1) },
			ErrNewer, false},
		"a frame's bit": {func(t *testing.T, b *bench) { overwrite(t, first(b), int64(headerSize)+9, 'x') },
			ErrCorrupt, true},
		"another blob's reference": {func(_ *testing.T, b *bench) {
			b.refs[string(key(1))] = b.refs[string(key(2))]
		}, ErrCorrupt, true},
		"a reference beyond the end": {func(_ *testing.T, b *bench) {
			b.refs[string(key(1))] = Ref{File: 1, Offset: 1 << 40, Length: 10}
		}, ErrCorrupt, true},
		"a reference to more than there is": {func(_ *testing.T, b *bench) {
			b.refs[string(key(1))] = Ref{File: 1, Offset: 8, Length: MaxBlob}
		}, ErrCorrupt, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Options{})
			b.append(1, 200)
			b.append(2, 200)
			b.commit()
			must(t, b.set.Close())
			c.damage(t, b)
			set, err := Open(b.dir, b.extents, b.opts)
			if (err == nil) != c.opens {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				b.set = set
				_, err = set.Read(nil, key(1), b.refs[string(key(1))])
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, at int64, b byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte{b}, at)
	must(t, errors.Join(err, f.Close()))
}
