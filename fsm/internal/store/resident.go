package store

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// residentEvery is how often the resident part of the store is looked at.
const residentEvery = time.Second

// BoundResident keeps the part of the store's file that counts as resident
// memory of this process within limit bytes, until ctx ends. bbolt maps its
// whole file: without this, a process that reads a large state would seem, to
// people and to limits set for it, to need as much memory as there is data.
func (s *Store) BoundResident(ctx context.Context, limit int) {
	path := s.Path()
	tick := time.NewTicker(residentEvery)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.ReleaseBeyond(limit)
		if err != nil && last == nil {
			s.Log.Warn("cannot release pages of the state file; trying again later", "path", path,
				"error", err, "retry_in", residentEvery)
		}
		last = err
	}
}

// ReleaseBeyond releases the mapped file of the store if more than limit bytes of mapped files
// are resident.
func (s *Store) ReleaseBeyond(limit int) error {
	pages, err := residentPages()
	if err != nil || pages <= limit/os.Getpagesize() {
		return err
	}
	path, err := filepath.Abs(s.Path())
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		err = releaseMapped(path)
	}
	return err
}
