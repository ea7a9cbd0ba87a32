//go:build linux

package disk

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	pageSize   = 4096
	sectorSize = 512
)

// pages is what the disk has of a file, where that differs from what the
// process sees.
type pages struct {
	file *os.File // of the folder behind; kept open, since the name may go
	size int64    // of the file, when it was last synced
	old  map[int64]page
}

// page is what the disk has at one place; zeros behind the end of the file.
type page struct {
	data []byte
	// lost: a sync that was to write the new content failed, so no later one
	// will write it.
	lost bool
}

func newPages(f *os.File) (*pages, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &pages{file: os.NewFile(uintptr(fd), f.Name()), size: info.Size(), old: map[int64]page{}}, nil
}

// save keeps what is between two offsets, before it changes.
func (p *pages) save(from, to int64) error {
	for n := from / pageSize; n*pageSize < to; n++ {
		if old, ok := p.old[n]; ok {
			p.old[n] = page{data: old.data} // there is something new to sync
			continue
		}
		data := make([]byte, pageSize)
		if _, err := p.file.ReadAt(data, n*pageSize); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		p.old[n] = page{data: data}
	}
	return nil
}

// synced forgets the old content, but for what a failed sync has lost. It
// reports whether nothing is left to remember.
func (p *pages) synced() (bool, error) {
	info, err := p.file.Stat()
	if err != nil {
		return false, err
	}
	p.size = info.Size()
	for n, old := range p.old {
		if !old.lost {
			delete(p.old, n)
		}
	}
	return len(p.old) == 0, nil
}

func (p *pages) lose() {
	for n, old := range p.old {
		old.lost = true
		p.old[n] = old
	}
}

// cut gives the file the content that the disk has.
func (p *pages) cut(f fate) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if !f.keeps() {
		size = p.size
	}
	for n, old := range p.old {
		if err := p.restore(n*pageSize, old, f); err != nil {
			return err
		}
	}
	return p.file.Truncate(size)
}

// restore puts back the old content of a page, sector by sector.
func (p *pages) restore(at int64, old page, f fate) error {
	for i := 0; i < pageSize; i += sectorSize {
		if !old.lost && f.keeps() {
			continue
		}
		if _, err := p.file.WriteAt(old.data[i:i+sectorSize], at+int64(i)); err != nil {
			return err
		}
	}
	return nil
}

// takesSpace reports whether a write needs room that the file does not have.
func takesSpace(fd int, from, to int64) bool {
	hole, err := unix.Seek(fd, from, unix.SEEK_HOLE)
	return errors.Is(err, syscall.ENXIO) || err == nil && hole < to
}
