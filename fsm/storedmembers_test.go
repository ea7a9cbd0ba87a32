package fsm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
)

// What the store says of the members is what a Machine says that is opened on it, whatever
// its version; of a store that is damaged or not there it is an error.
func TestStoredMembers(t *testing.T) {
	r := newRig(t)
	closed := func() {
		t.Helper()
		if err := r.m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := func(members ...codec.Member) {
		t.Helper()
		closed()
		got, err := StoredMembers(r.dir)
		if err != nil || !slices.Equal(got, members) {
			t.Errorf("members are %v, %v, want %v", got, err, members)
		}
		r.open()
	}
	want()
	n1, n2 := codec.Member{ID: "n1", Incarnation: "i", RESPAddr: "r", HTTPAddr: "h"},
		codec.Member{ID: "n2", Incarnation: "j"}
	r.apply(1, &codec.Epoch{ClusterID: "c"}, &n2, &n1)
	r.flush()
	want(n1, n2)

	closed()
	path := filepath.Join(r.dir, "state.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, len(whole)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := StoredMembers(r.dir); !IsDamage(err) {
		t.Errorf("of a damaged store: %v, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := StoredMembers(r.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no store: %v, %v", got, err)
	}
}
