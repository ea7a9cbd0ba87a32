package fsm

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// residentEvery is how often the resident part of the store is looked at.
const residentEvery = time.Second

// boundResident keeps the part of the store's file that counts as resident
// memory of this process within limit bytes, until ctx ends. bbolt maps its
// whole file: without this, a process that reads a large state would seem, to
// people and to limits set for it, to need as much memory as there is data.
func (m *Machine) boundResident(ctx context.Context, limit int) {
	path, err := filepath.Abs(filepath.Join(m.cfg.Dir, storeName))
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	tick := time.NewTicker(residentEvery)
	defer tick.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var pages int
		if pages, err = residentPages(); err == nil && pages > limit/os.Getpagesize() {
			err = releaseMapped(path)
		}
	}
	m.cfg.Logger.Warn("cannot bound the resident part of the state file", "path", path, "error", err)
}
