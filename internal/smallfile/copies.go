package smallfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// ErrDamaged marks a copy that is not what was written.
var ErrDamaged = errors.New("it is damaged")

// SecondCopy returns the path of a file's second copy.
func SecondCopy(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-copy" + ext
}

// WriteCopies replaces both copies of a file.
func WriteCopies(path string, b []byte) error {
	if err := Replace(SecondCopy(path), b); err != nil {
		return err
	}
	return Replace(path, b)
}

// Copies are those of a file that could be read.
type Copies[T any] struct {
	Best   *T    // nil: there is neither
	damage error // of the copies that are not whole, or are missing beside the other
	Differ bool  // they are not the same
}

// ReadCopies reads both copies of a file. decode returns ErrDamaged for a copy that is not what
// was written. supersedes reports whether the second one holds what the first one lacks. It
// fails if one is of a newer version, or if no copy is whole though there are some; then the
// error ends with the advice what to do.
func ReadCopies[T any](path, advice string, decode func(path string, b []byte) (*T, error),
	supersedes func(second, first *T) bool) (Copies[T], error) {
	var c Copies[T]
	var content [2][]byte
	var missing error
	for i, p := range []string{path, SecondCopy(path)} {
		b, err := descriptors.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			missing = fmt.Errorf("%s is missing", p)
			continue
		}
		if err != nil {
			return c, err
		}
		content[i] = b
		v, err := decode(p, b)
		switch {
		case errors.Is(err, ErrDamaged):
			c.damage = errors.Join(c.damage, err)
		case err != nil:
			return c, err
		case c.Best == nil || supersedes(v, c.Best):
			c.Best = v
		}
	}
	switch {
	case c.Best == nil && c.damage != nil:
		return c, fmt.Errorf("%w; %s", c.damage, advice)
	case c.Best == nil:
		return c, nil
	}
	c.damage = errors.Join(c.damage, missing)
	c.Differ = !bytes.Equal(content[0], content[1])
	return c, nil
}

// Mend brings both copies to what the better one says. A node goes on without a second copy:
// it comes up on a full disk.
func (c Copies[T]) Mend(path string, write func() error, log *slog.Logger) {
	if !c.Differ {
		return
	}
	if c.damage != nil {
		log.Warn("one of two copies of a file is damaged; using the other one", "file", path,
			"reason", c.damage)
	}
	if err := write(); err != nil {
		log.Warn("cannot write both copies of a file; continuing with one", "file", path, "error", err)
	}
}
