package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/vfs"
)

const (
	// UnfinishedName is in a data directory while a restore or a recovery fills it. A node that started there
	// would begin an empty cluster.
	UnfinishedName = "restore-unfinished"
	// LeftName is the file of a data directory that says that a recovery took its state over.
	LeftName = "recovered-elsewhere"
)

// MayStart returns why no node may start from a directory, nil if one may. Without the lock, which Open takes, that
// may change at any time.
func MayStart(dir string) error { return errors.Join(CheckFinished(dir), checkNotLeft(dir)) }

// Claim makes a directory, or takes one that is empty, and notes that it is unfinished.
func Claim(dir string) error {
	disk := vfs.OS{}
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "lost+found" })
	if len(entries) > 0 {
		return fmt.Errorf("the directory %s is not empty (it has %s): nothing was changed; give one that "+
			"is empty, or is not there", dir, entries[0].Name())
	}
	began := time.Now().UTC().Format(time.RFC3339)
	return smallfile.Replace(filepath.Join(dir, UnfinishedName), []byte("begun "+began+"\n"))
}

// Finish ends what Claim began.
func Finish(dir string) error {
	if err := (vfs.OS{}).SyncDir(dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, UnfinishedName)); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(dir)
}

// CheckFinished refuses a directory that a restore or a recovery has not finished.
func CheckFinished(dir string) error {
	path := filepath.Join(dir, UnfinishedName)
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return fmt.Errorf("%s says that a restore or a recovery into this directory did not finish: empty the "+
		"directory, and run that command again", path)
}

// Leave marks a directory whose state the cluster took over that begins in another one.
func Leave(dir, to string) error {
	if abs, err := filepath.Abs(to); err == nil {
		to = abs
	}
	text := fmt.Sprintf("at %s its state was taken over by the cluster that begins in %s\n",
		time.Now().UTC().Format(time.RFC3339), to)
	return smallfile.Replace(filepath.Join(dir, LeftName), []byte(text))
}

// LeftFor returns what Leave wrote; empty: nothing, and the directory was not left.
func LeftFor(dir string) (string, error) {
	why, err := descriptors.ReadFile(filepath.Join(dir, LeftName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read whether the directory was left: %w", err)
	}
	return cmp.Or(string(why), "it does not say for which cluster\n"), nil
}

// checkNotLeft refuses a directory whose state a recovery took over.
func checkNotLeft(dir string) error {
	why, err := LeftFor(dir)
	if err != nil || why == "" {
		return err
	}
	return fmt.Errorf("the node is not to start, says %s: %s; to add a node to the new cluster, begin with an empty "+
		"directory and `turnlog serve --join`", filepath.Join(dir, LeftName), strings.TrimSpace(why))
}
