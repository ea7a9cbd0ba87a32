package fsm

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// On a disk that is short of space the payloads of deleted sessions go with the
// flush; their ids stay, and the state means the same.
func TestPayloadsOfDeletedSessionsGoAtOnce(t *testing.T) {
	for _, short := range []bool{false, true} {
		t.Run(fmt.Sprint("short=", short), func(t *testing.T) {
			r := newRig(t)
			k, data := turn.Key{Namespace: "0", Name: "s"}, bytes.Repeat([]byte("x"), 700)
			appendAt := func(i int) *turn.Append {
				return &turn.Append{Key: k, Messages: []turn.NewMessage{{ID: fmt.Sprint("m", i), Data: data}}}
			}
			for i := range 1500 {
				r.apply(1, appendAt(i))
			}
			if r.m.Unflushed() < 1500*700 {
				t.Errorf("%d bytes are to be flushed", r.m.Unflushed())
			}
			r.flush()
			r.m.ShortOfSpace(short, 64<<20)
			r.apply(2, &turn.Delete{Keys: []turn.Key{k}})
			r.settle()
			if size, _ := r.spaceOf(); short == (size > 1500*700/4) {
				t.Errorf("short of space: %v; the files take %d bytes", short, size)
			}
			r.checkAccount()
			for _, again := range []bool{false, true} {
				if again {
					r.restart()
				}
				if out := r.apply(3, appendAt(1499)); !out[0].Result.Duplicate {
					t.Errorf("restarted %v: the id is not remembered: %+v", again, out)
				}
			}
		})
	}
}

// On a disk that is short of space, files are emptied though most of each is in use, the one
// that is written to as well, and what is moved meanwhile never takes more than three quarters of what
// is left.
func TestFilesAreEmptiedSoonerOnAFullDisk(t *testing.T) {
	for left, freed := range map[uint64]bool{64 << 20: true, 12 << 10: false} {
		t.Run(fmt.Sprint("left=", left), func(t *testing.T) {
			r := newRig(t)
			data := bytes.Repeat([]byte("x"), 700)
			keyOf := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
			for i := range 400 {
				r.apply(1, &turn.Append{Key: keyOf(i), Messages: []turn.NewMessage{{Data: data}}})
			}
			r.settle()
			full, _ := r.spaceOf()
			for i := range 400 {
				if i%3 == 0 {
					r.apply(2, &turn.Delete{Keys: []turn.Key{keyOf(i)}})
				}
			}
			r.settle()
			if size, _ := r.spaceOf(); size < full {
				t.Fatalf("of %d bytes, %d are left before the disk is short of space", full, size)
			}
			before := storeHash(t, r.m)
			r.m.ShortOfSpace(true, left)
			r.settle()
			size, live := r.spaceOf()
			if emptied := size < live+live/4; emptied != freed {
				t.Errorf("the files take %d bytes, of which %d count; they took %d", size, live, full)
			}
			r.checkAccount()
			if got := storeHash(t, r.m); got != before {
				t.Error("emptying files has changed the state")
			}
			r.restart()
			r.checkAccount()
		})
	}
}

// crampedDisk has no space for another block file while full is set.
type crampedDisk struct {
	store.OSDisk
	full *bool
}

func (d crampedDisk) Create(name string) (vfs.File, error) {
	if *d.full && strings.HasSuffix(name, ".blk") {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return d.OSDisk.Create(name)
}

// Without space for the file that is to take the place of the one that is written to, tidying ends, and the
// state stays as it is. It goes on when there is space again.
func TestLastFileIsEmptiedWhenThereIsSpaceForTheNext(t *testing.T) {
	full := false
	r := &rig{t: t, dir: t.TempDir(), disk: crampedDisk{full: &full}}
	r.open()
	defer func() { r.m.Close() }()
	keyOf := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	for i := range 15 {
		r.apply(1, &turn.Append{Key: keyOf(i), Messages: []turn.NewMessage{{Data: bytes.Repeat([]byte("x"), 700)}}})
	}
	r.settle()
	r.m.ShortOfSpace(true, 64<<20)
	for i := range 12 {
		r.apply(2, &turn.Delete{Keys: []turn.Key{keyOf(i)}})
	}
	full = true
	more, err := r.m.flush()
	for rounds := 0; more && err == nil; rounds++ {
		if rounds == 100 {
			t.Fatal("it is tidied for ever")
		}
		more, err = r.m.tidy()
	}
	if err != nil || r.m.Err() != nil {
		t.Fatalf("without space for another file: %v, %v", err, r.m.Err())
	}
	before, _ := r.spaceOf()
	r.checkAccount()
	full = false
	r.settle()
	if after, live := r.spaceOf(); after > before/2 || live == 0 {
		t.Errorf("the files took %d bytes and take %d, of which %d count", before, after, live)
	}
	r.checkAccount()
	if got := r.query(&turn.Read{Key: keyOf(14)}); len(got.Messages) != 1 {
		t.Errorf("read %d messages", len(got.Messages))
	}
}

// The file that is written to, and of which nothing is in use any more, goes as well.
func TestLastFileIsEmptiedOnAFullDisk(t *testing.T) {
	r := newRig(t)
	keyOf := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	for range 3 {
		for i := range 15 {
			r.apply(1, &turn.Append{Key: keyOf(i), Messages: []turn.NewMessage{{Data: bytes.Repeat([]byte("x"), 700)}}})
		}
		r.settle()
		r.m.ShortOfSpace(true, 64<<20)
		for i := range 15 {
			r.apply(2, &turn.Delete{Keys: []turn.Key{keyOf(i)}})
		}
		r.settle()
		if size, _ := r.spaceOf(); size > 100 {
			t.Errorf("the files take %d bytes, and hold nothing", size)
		}
		r.m.ShortOfSpace(false, 64<<20)
		r.checkAccount()
	}
}

// fillingDisk has no space whenever full says so.
type fillingDisk struct {
	store.OSDisk
	full *bool
}

type fillingFile struct {
	vfs.File
	full *bool
}

func (d fillingDisk) Create(name string) (vfs.File, error) {
	f, err := d.OSDisk.Create(name)
	return fillingFile{f, d.full}, err
}

func (f fillingFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.full {
		return 0, &os.PathError{Op: "write", Err: syscall.ENOSPC}
	}
	return f.File.WriteAt(b, at)
}

// If there is no space in the midst of emptying the last file, nothing of it is lost,
// though it is appended to again.
func TestNoSpaceWhileTheLastFileIsEmptied(t *testing.T) {
	for _, after := range []int{0, 1} { // tidyings
		t.Run(fmt.Sprint("after=", after), func(t *testing.T) {
			full := false
			r := &rig{t: t, dir: t.TempDir(), disk: fillingDisk{store.OSDisk{}, &full}}
			m, err := Open(Config{Dir: r.dir, FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler), disk: r.disk,
				BlockFileBytes: 36 << 20})
			if err != nil {
				t.Fatal(err)
			}
			r.m = m
			defer func() { _ = m.Close() }()
			keyOf := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
			for i := range 30 {
				r.apply(1, &turn.Append{Key: keyOf(i), Messages: []turn.NewMessage{{Data: make([]byte, 1<<20)}}})
			}
			r.settle()
			for i := range 20 {
				r.apply(2, &turn.Delete{Keys: []turn.Key{keyOf(i)}})
			}
			r.settle()
			r.m.ShortOfSpace(true, 64<<20)
			for range after {
				if _, err := r.m.tidy(); err != nil {
					t.Fatal(err)
				}
			}
			full = true
			if _, err := r.m.tidy(); !store.DiskFull(err) {
				t.Fatalf("on a full disk: %v", err)
			}
			full = false
			r.m.ShortOfSpace(false, 200<<20)
			r.apply(3, &turn.Append{Key: keyOf(20), Messages: []turn.NewMessage{{Data: make([]byte, 7<<20)}}})
			r.settle()
			for _, short := range []bool{false, true} {
				r.m.ShortOfSpace(short, 200<<20)
				r.settle()
				for i := 20; i < 30; i++ {
					if n := len(r.query(&turn.Read{Key: keyOf(i)}).Messages); n == 0 {
						t.Errorf("session %d is lost", i)
					}
				}
				r.checkAccount()
			}
		})
	}
}
