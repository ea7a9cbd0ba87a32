package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// failing is a storage whose reads of an object fail after so many.
type failing struct {
	Storage
	name string
	left int
	err  error
}

func (f *failing) Read(ctx context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	if name == f.name {
		if f.left--; f.left < 0 {
			return nil, 0, f.err
		}
	}
	return f.Storage.Read(ctx, name, offset)
}

// A rotation that cannot read what was added, after it was read back, or another backup, says so and removes nothing.
func TestRotationThatCannotRead(t *testing.T) {
	gone := errors.New("the connection ended")
	for what, c := range map[string]struct {
		older int // how many backups are there before
		reads int // how many of the object succeed
		err   error
		old   bool // it is an older one
		want  string
	}{
		"read back":              {0, 0, gone, false, "cannot be read back"},
		"added, gone":            {0, 1, gone, false, gone.Error()},
		"added, damaged":         {0, 1, turn.Errorf(turn.Corrupt, "damaged"), false, "is not among"},
		"added, damaged, others": {2, 1, turn.Errorf(turn.Corrupt, "damaged"), false, "is not among"},
		"an older one, gone":     {3, 0, gone, true, gone.Error()},
	} {
		s := &failing{Storage: NewFolder(t.TempDir()), err: c.err, left: c.reads}
		r, err := OpenRepository(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range c.older + 1 {
			dump, d := stateOf(t, "a", 10+i)
			name, err := r.Add(t.Context(), d, func(w io.Writer) error {
				_, err := Write(w, d, bytes.NewReader(dump))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		added := names[c.older]
		if s.name = added; c.old {
			s.name = names[0]
		}
		removed, err := r.Rotate(t.Context(), added, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(removed) > 0 {
			t.Errorf("%s: removed %q, %v; want an error that says %q", what, removed, err, c.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
