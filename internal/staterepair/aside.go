package staterepair

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// DamageName and AsideName are in the node's data directory.
//
// A node whose state is damaged remembers that in a file of its data directory, so that
// the repair goes on after a restart. A state that cannot even be opened is put aside,
// into a folder, until the repair is done.
//
//	damaged        says what was found
//	damaged-state  what could not be opened: state.db, blocks
const (
	DamageName = "damaged"
	AsideName  = "damaged-state"
)

// Open opens the state machine. If its files are damaged and there are other members
// to fetch a state from, it opens with nothing in it, halted, and the repair follows.
func (r *Repairer) Open(cfg fsm.Config, alone func() bool) (*fsm.Machine, error) {
	cfg.OnDamage = func(error) { r.damaged.Notify() }
	dir := cfg.Dir
	text, err := descriptors.ReadFile(filepath.Join(dir, DamageName))
	switch {
	case err == nil && !alone():
		cfg.Damaged = turn.Errorf(turn.Corrupt, "found before the last start: %s", text)
		r.damaged.Notify()
	case err == nil: // it serves what is whole
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		if err := os.RemoveAll(filepath.Join(dir, AsideName)); err != nil {
			return nil, fmt.Errorf("staterepair: remove a state that was repaired: %w", err)
		}
	}
	r.state, err = fsm.Open(cfg)
	if err == nil || !fsm.IsDamage(err) || alone() {
		return r.state, err
	}
	r.cfg.Logger.Error("the state cannot be opened; it is put aside, and fetched from another node", "folder",
		filepath.Join(dir, AsideName), "error", err)
	if err := errors.Join(noteDamage(dir, err), putAside(dir)); err != nil {
		return nil, fmt.Errorf("staterepair: put the damaged state aside: %w", err)
	}
	cfg.Damaged = err
	r.damaged.Notify()
	r.state, err = fsm.Open(cfg)
	return r.state, err
}

// noteDamage remembers damage, unless there is some already.
func noteDamage(dir string, why error) error {
	path := filepath.Join(dir, DamageName)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return smallfile.Replace(path, []byte(why.Error()))
}

// putAside moves the files of the state out of the way. If that was done before, what is
// there now is what a repair had begun.
func putAside(dir string) error {
	aside := filepath.Join(dir, AsideName)
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"blocks", "state.db"} {
		from, to := filepath.Join(dir, name), filepath.Join(aside, name)
		move := func() error { return os.Rename(from, to) }
		if _, err := os.Stat(to); err == nil {
			move = func() error { return os.RemoveAll(from) }
		}
		if err := move(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(vfs.OS{}.SyncDir(aside), vfs.OS{}.SyncDir(dir))
}

// noted reports whether damage is remembered.
func noted(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, DamageName))
	return err == nil
}

// forgetDamage forgets the damage, and what was put aside.
func forgetDamage(dir string) error {
	if err := os.Remove(filepath.Join(dir, DamageName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := (vfs.OS{}).SyncDir(dir); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, AsideName))
}
