package raftstore

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

// A node whose state is damaged remembers that in a file of its data directory, so that
// the repair goes on after a restart. A state that cannot even be opened is put aside,
// into a folder, until the repair is done.
//
//	damaged        says what was found
//	damaged-state  what could not be opened: state.db, blocks
const (
	damageName = "damaged"
	asideName  = "damaged-state"
)

// openState opens the state machine. If its files are damaged and there are other members
// to fetch a state from, it opens with nothing in it, halted, and the repair follows.
func (n *Node) openState(cfg fsm.Config) (*fsm.Machine, error) {
	cfg.OnDamage = func(error) { n.signals.damaged.Notify() }
	text, err := descriptors.ReadFile(filepath.Join(cfg.Dir, damageName))
	switch {
	case err == nil && !n.alone():
		cfg.Damaged = turn.Errorf(turn.Corrupt, "found before the last start: %s", text)
		n.signals.damaged.Notify()
	case err == nil: // it serves what is whole
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		if err := os.RemoveAll(filepath.Join(cfg.Dir, asideName)); err != nil {
			return nil, fmt.Errorf("raftstore: remove a state that was repaired: %w", err)
		}
	}
	m, err := fsm.Open(cfg)
	if err == nil || !fsm.IsDamage(err) || n.alone() {
		return m, err
	}
	n.log.Error("the state cannot be opened; it is put aside, and fetched from another node", "folder",
		filepath.Join(cfg.Dir, asideName), "error", err)
	if err := errors.Join(noteDamage(cfg.Dir, err), putAside(cfg.Dir)); err != nil {
		return nil, fmt.Errorf("raftstore: put the damaged state aside: %w", err)
	}
	cfg.Damaged = err
	n.signals.damaged.Notify()
	return fsm.Open(cfg)
}

// noteDamage remembers damage, unless there is some already.
func noteDamage(dir string, why error) error {
	path := filepath.Join(dir, damageName)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return smallfile.Replace(path, []byte(why.Error()))
}

// putAside moves the files of the state out of the way. If that was done before, what is
// there now is what a repair had begun.
func putAside(dir string) error {
	aside := filepath.Join(dir, asideName)
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

// forgetDamage forgets the damage, and what was put aside.
func forgetDamage(dir string) error {
	if err := os.Remove(filepath.Join(dir, damageName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := (vfs.OS{}).SyncDir(dir); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, asideName))
}
