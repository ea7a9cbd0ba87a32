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
	path := filepath.Join(m.cfg.Dir, storeName)
	tick := time.NewTicker(residentEvery)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := releaseBeyond(path, limit)
		if err != nil && last == nil {
			m.cfg.Logger.Warn("cannot bound the resident part of the state file: it is tried again", "path", path,
				"error", err, "retry_in", residentEvery)
		}
		last = err
	}
}

// releaseBeyond releases the mapped file at path if more than limit bytes of mapped files
// are resident.
func releaseBeyond(path string, limit int) error {
	pages, err := residentPages()
	if err != nil || pages <= limit/os.Getpagesize() {
		return err
	}
	if path, err = filepath.Abs(path); err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		err = releaseMapped(path)
	}
	return err
}
