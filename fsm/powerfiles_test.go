package fsm

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

// powerFiles is the part of a powerDisk on which the block files are.
type powerFiles struct {
	blockfile.OS
	disk *powerDisk
}

func (d *powerDisk) files() blockfile.FS { return powerFiles{disk: d} }

// blockName is a block file's name as the record of steps has it.
func blockName(path string) string { return filepath.Join(blocksDir, filepath.Base(path)) }

func (p powerFiles) Create(path string) (blockfile.File, error) {
	p.disk.settle()
	f, err := p.OS.Create(path)
	if err != nil {
		return nil, err
	}
	id := len(p.disk.steps)
	p.disk.names[blockName(path)] = &powerFile{id: id}
	p.disk.note(powerStep{kind: stepCreateBlocks, file: id, name: blockName(path)})
	return powerBlocks{f, p.disk, id}, nil
}

func (p powerFiles) Open(path string) (blockfile.File, error) {
	f, err := p.OS.Open(path)
	if err != nil {
		return nil, err
	}
	return powerBlocks{f, p.disk, p.disk.names[blockName(path)].id}, nil
}

func (p powerFiles) Remove(path string) error {
	p.disk.settle()
	p.disk.note(powerStep{kind: stepRemoveBlocks, name: blockName(path)})
	return p.OS.Remove(path)
}

func (p powerFiles) SyncDir(dir string) error {
	p.disk.settle()
	if filepath.Base(dir) == blocksDir {
		p.disk.note(powerStep{kind: stepSyncBlocksDir})
	}
	return nil
}

// powerBlocks is one block file.
type powerBlocks struct {
	blockfile.File
	disk *powerDisk
	id   int
}

func (f powerBlocks) WriteAt(b []byte, off int64) (int, error) {
	f.disk.settle()
	err := f.disk.fault()
	if err != nil {
		b = b[:len(b)/2]
	}
	f.disk.note(powerStep{kind: stepWrite, file: f.id, off: off, data: slices.Clone(b)})
	n, werr := f.File.WriteAt(b, off)
	if err == nil {
		err = werr
	}
	return n, err
}

func (f powerBlocks) Sync() error {
	f.disk.settle()
	f.disk.note(powerStep{kind: stepSync, file: f.id})
	return nil // no real power will be cut
}

// blocksAfter returns the folder of the block files: as it was synced, or with all
// that was done to it since.
func (p *platter) blocksAfter(all bool) map[string]int {
	names := maps.Clone(p.blocks)
	for _, s := range p.pendingBlocks {
		switch {
		case !all:
		case s.kind == stepCreateBlocks:
			names[s.name] = s.file
		default:
			delete(names, s.name)
		}
	}
	return names
}
