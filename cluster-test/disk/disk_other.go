//go:build !linux

package disk

import "errors"

// Disk is one that is mounted, which needs Linux.
type Disk struct {
	faults
	off chan struct{} // never closed
}

// Mount fails here.
func Mount(dir, behind string) (*Disk, error) {
	return nil, errors.New("a disk that fails needs Linux")
}

func (d *Disk) Unmount() error                   { return nil }
func (d *Disk) Cut(loss Loss, seed uint64) error { return nil }
func (d *Disk) Off()                             {}
func (d *Disk) Settle()                          {}
