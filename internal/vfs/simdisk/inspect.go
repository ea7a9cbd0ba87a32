package simdisk

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Unsynced returns how many writes to a file, or changes of a folder, are not durable; 0 if there is none of that name.
func (d *Disk) Unsynced(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, ok := d.folders[name]; ok {
		return len(f.pending)
	}
	node, err := d.lookup(name)
	if err != nil {
		return 0
	}
	return node.writes
}

// CopyOut writes all folders and files, as readers see them, below a folder of the operating system: for what must have
// files of that.
func (d *Disk) CopyOut(root string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, f := range d.folders {
		dir := filepath.Join(root, path)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for name, node := range f.seen {
			if err := node.seen.copyOut(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c content) copyOut(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = f.Truncate(c.size)
	numbers := slices.Sorted(maps.Keys(c.sectors))
	for len(numbers) > 0 && err == nil {
		at, run := numbers[0]*SectorSize, []byte(nil)
		for len(numbers) > 0 && numbers[0]*SectorSize == at+int64(len(run)) {
			run = append(run, c.sectors[numbers[0]][:]...)
			numbers = numbers[1:]
		}
		_, err = f.WriteAt(run[:min(int64(len(run)), max(c.size-at, 0))], at)
	}
	return errors.Join(err, f.Close())
}
