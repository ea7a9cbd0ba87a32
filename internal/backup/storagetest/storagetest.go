// Package storagetest is the contract of backup.Storage as tests, which every storage has to pass: what a listing
// shows, when an object is there, and who holds the lock.
package storagetest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/internal/backup"
)

// Run holds a storage that open returns, a new and empty one each time, to the contract.
func Run(t *testing.T, open func(t *testing.T) backup.Storage) {
	t.Run("objects", func(t *testing.T) { objects(t, open(t)) })
	t.Run("failures", func(t *testing.T) { failures(t, open(t)) })
	t.Run("lock", func(t *testing.T) { lock(t, open(t)) })
}

func text(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for len(b) > 0 { // as a writer of frames writes
			n, err := w.Write(b[:min(len(b), 100_000)])
			if err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	}
}

// get reads an object from an offset.
func get(t *testing.T, s backup.Storage, name string, offset int64) ([]byte, int64) {
	t.Helper()
	in, size, err := s.Read(t.Context(), name, offset)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return b, size
}

func names(t *testing.T, s backup.Storage, dir string) (all []string) {
	t.Helper()
	objects, err := s.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		all = append(all, o.Name)
	}
	return all
}

// objects: what was written is read, from any offset, listed with its size, never replaced, and removed.
func objects(t *testing.T, s backup.Storage) {
	l, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	long := make([]byte, 40<<20+17) // more than two parts of an upload
	for r, i := rand.New(rand.NewPCG(1, 2)), 0; i < len(long); i += 7 {
		long[i] = byte(r.Uint32())
	}
	for name, b := range map[string][]byte{"turnlog-1.tlb": []byte("one"), "turnlog-2.tlb": long, "turnlog-3.tlb": {},
		"packs/1.tlp": []byte("a pack")} {
		if err := s.Write(t.Context(), name, int64(len(b)), text(b)); err != nil {
			t.Fatal(err)
		}
		for _, offset := range []int64{0, 1, int64(len(b)) / 2} {
			if offset > 0 && offset >= int64(len(b)) {
				continue
			}
			if got, size := get(t, s, name, offset); !bytes.Equal(got, b[offset:]) || size != int64(len(b)) {
				t.Errorf("%s from %d: %d bytes of %d, want %d of %d", name, offset, len(got), size,
					int64(len(b))-offset, len(b))
			}
		}
		if err := s.Write(t.Context(), name, 3, text([]byte("new"))); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s is written again: %v", name, err)
		}
	}
	all, err := s.List(t.Context(), "")
	if err != nil || len(all) != 3 || all[0].Size != 3 || all[1].Size != int64(len(long)) ||
		all[2].Name != "turnlog-3.tlb" {
		t.Errorf("the list is %v, %v", all, err)
	}
	if got := names(t, s, "packs"); len(got) != 1 || got[0] != "packs/1.tlp" {
		t.Errorf("the packs are %v", got)
	}
	for range 2 {
		if err := s.Remove(t.Context(), "turnlog-2.tlb"); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, s, ""); len(got) != 2 {
		t.Errorf("after a removal there are %v", got)
	}
}

// failures: what was not written to its end is not there; what is not there is fs.ErrNotExist.
func failures(t *testing.T, s backup.Storage) {
	if l, err := s.Lock(t.Context()); err != nil {
		t.Fatal(err)
	} else {
		defer l.Close()
	}
	for _, failed := range []error{errors.New("the source failed"), io.EOF, io.ErrUnexpectedEOF} {
		for _, n := range []int{0, 10, 40 << 20} {
			err := s.Write(t.Context(), "turnlog-1.tlb", 50<<20, func(w io.Writer) error {
				if err := text(make([]byte, n))(w); err != nil {
					return err
				}
				return failed
			})
			if !errors.Is(err, failed) {
				t.Errorf("the source fails with %v after %d bytes: %v", failed, n, err)
			}
		}
	}
	if got := names(t, s, ""); len(got) != 0 {
		t.Errorf("there is %v", got)
	}
	if _, _, err := s.Read(t.Context(), "turnlog-1.tlb", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there is read: %v", err)
	}
	if got := names(t, s, "packs"); len(got) != 0 {
		t.Errorf("there are packs: %v", got)
	}
}

// lock: one at a time has it.
func lock(t *testing.T, s backup.Storage) {
	first, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock(t.Context()); err == nil {
		t.Error("two have the lock")
	}
	if err := first.Held(t.Context()); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, s, ""); len(got) != 0 {
		t.Errorf("a lock is listed as a backup: %v", got)
	}
}
