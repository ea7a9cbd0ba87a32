package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/cluster-test/disk"
)

// insertDisk puts a disk under the node's data.
func (n *Node) insertDisk() (err error) {
	if n.Disk, err = disk.Mount(filepath.Join(n.Dir, "mount"), filepath.Join(n.Dir, "disk")); err != nil {
		return err
	}
	n.Dir = filepath.Join(n.Dir, "mount", "node")
	return n.Settle()
}

// Settle makes durable what the harness itself changed in the data.
func (n *Node) Settle() error {
	if n.Disk == nil {
		return nil
	}
	err := os.MkdirAll(n.Dir, 0o700)
	n.Disk.Settle()
	return err
}

// PowerCut kills the process and has the disk lose what was not synced.
func (n *Node) PowerCut(loss disk.Loss, seed uint64) error {
	n.Expect(true) // it may see the disk go first
	n.Disk.Off()
	if err := n.Kill(); err != nil && n.Running() {
		return err
	}
	return n.Disk.Cut(loss, seed)
}

// Output is what the node wrote since it was started last.
func (n *Node) Output() string {
	text, err := os.ReadFile(n.Log)
	if err != nil {
		return err.Error()
	}
	if i := bytes.LastIndex(text, []byte("--- start ")); i >= 0 {
		text = text[i:]
	}
	return string(text)
}

// Wipe moves the data of a stopped node aside, to the returned directory.
func (n *Node) Wipe() (string, error) {
	if n.Running() {
		return "", fmt.Errorf("wipe %s: it is running", n.ID)
	}
	aside := fmt.Sprintf("%s.wiped-%d", n.Dir, n.Starts())
	return aside, errors.Join(os.Rename(n.Dir, aside), n.Settle())
}

// Unwipe brings back the data that Wipe moved to aside.
func (n *Node) Unwipe(aside string) error {
	if n.Running() {
		return fmt.Errorf("unwipe %s: it is running", n.ID)
	}
	if err := os.RemoveAll(n.Dir); err != nil {
		return err
	}
	return errors.Join(os.Rename(aside, n.Dir), n.Settle())
}

// DiskBytes is the size of the node's data.
func (n *Node) DiskBytes() int64 {
	var total int64
	filepath.WalkDir(n.Dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
