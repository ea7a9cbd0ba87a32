package badstores_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/badstores"
)

// A process that is killed can leave half a line, if that crosses a page of the file. The correct store is not
// harmed by that: what was not acknowledged is not there, and what is saved next is.
func TestTornSaveHarmsNothingElse(t *testing.T) {
	dir := t.TempDir()
	store := (&badstores.Shared{Dir: dir}).Open()
	holds := func(want int) {
		t.Helper()
		if got, err := store.Load(t.Context(), "s"); err != nil || len(got) != want {
			t.Errorf("%d messages, %v, want %d", len(got), err, want)
		}
	}
	add := func() {
		t.Helper()
		if err := store.Add(t.Context(), "s", contract.Message{}); err != nil {
			t.Fatal(err)
		}
	}
	add()
	f, err := os.OpenFile(filepath.Join(dir, "s"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\n[\"half"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	holds(1)
	add()
	holds(2)
}
