// Package copytest has a test that every file with a second copy has to pass: whatever happens to one copy, the file's
// owner reads what was written, and restores the copy.
package copytest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/internal/smallfile"
)

// Check damages each copy of a file of package smallfile by a flipped bit here and there, and in ways that
// are more: open must find what was written, and leave both copies whole.
func Check(t testing.TB, path string, open func() (any, error)) {
	t.Helper()
	want, err := open()
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(damaged string, content []byte) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, sound, 0o600),
			os.WriteFile(smallfile.SecondCopy(path), sound, 0o600)); err != nil {
			t.Fatal(err)
		}
		err := os.Remove(damaged)
		if content != nil {
			err = os.WriteFile(damaged, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := open(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is %q: read as %+v, %v", filepath.Base(damaged), content, got, err)
		}
		for _, p := range []string{path, smallfile.SecondCopy(path)} {
			if b, err := os.ReadFile(p); err != nil || !bytes.Equal(b, sound) {
				t.Fatalf("%s was %q: %s is %q after that, %v", filepath.Base(damaged), content,
					filepath.Base(p), b, err)
			}
		}
	}
	for _, damaged := range []string{path, smallfile.SecondCopy(path)} {
		for at := 0; at < len(sound); at += 5 { // each takes some syncs
			b := bytes.Clone(sound)
			b[at] ^= 1 << (at % 8)
			check(damaged, b)
		}
		check(damaged, sound[:len(sound)/2])
		check(damaged, []byte{})
		check(damaged, nil)
	}
}
