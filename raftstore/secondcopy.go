package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// A small file that a node cannot do without has a second copy beside it: one flipped bit
// leaves one of them whole. The second copy is written first, each as a whole and durably, so
// that after a crash it is the newer one. Versions before it know the first copy only: they
// read it, and leave a second copy behind that may be older.
//
//	identity.json   identity-copy.json
//	snapshot.json   snapshot-copy.json

// errDamagedCopy marks a copy that is not what was written.
var errDamagedCopy = errors.New("it is damaged")

// secondCopy returns the path of a file's second copy.
func secondCopy(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-copy" + ext
}

// writeCopies replaces both copies of a file.
func writeCopies(path string, b []byte) error {
	if err := replaceFile(secondCopy(path), b); err != nil {
		return err
	}
	return replaceFile(path, b)
}

// copies are those of a file that could be read.
type copies[T any] struct {
	best   *T    // nil: there is neither
	damage error // of the copies that are not whole, or are missing beside the other
	differ bool  // they are not the same
}

// readCopies reads both copies of a file. supersedes reports whether the second one holds what
// the first one lacks. It fails if no copy is whole though there are some, and if one is of a
// newer version.
func readCopies[T any](path string, decode func(path string, b []byte) (*T, error), supersedes func(second, first *T) bool) (copies[T], error) {
	var c copies[T]
	var content [2][]byte
	var missing error
	for i, p := range []string{path, secondCopy(path)} {
		b, err := os.ReadFile(p)
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
		case errors.Is(err, errDamagedCopy):
			c.damage = errors.Join(c.damage, err)
		case err != nil:
			return c, err
		case c.best == nil || supersedes(v, c.best):
			c.best = v
		}
	}
	switch {
	case c.best == nil && c.damage != nil:
		return c, fmt.Errorf("%w; %s", c.damage, reseed)
	case c.best == nil:
		return c, nil
	}
	c.damage = errors.Join(c.damage, missing)
	c.differ = !bytes.Equal(content[0], content[1])
	return c, nil
}

// mend brings both copies to what the better one says. A node goes on without a second copy:
// it comes up on a full disk.
func (c copies[T]) mend(path string, write func() error, log *slog.Logger) {
	if !c.differ {
		return
	}
	if c.damage != nil {
		log.Warn("one of two copies of a file is not whole; the other one takes its place", "file", path, "reason", c.damage)
	}
	if err := write(); err != nil {
		log.Warn("cannot write both copies of a file; going on with one", "file", path, "error", err)
	}
}
