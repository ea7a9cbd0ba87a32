package backups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnlog/turnlog/internal/backup"
)

// left says what a backup that failed has left, for a person who decides what to do with it.
func (t *taking) left(target string, err error) string {
	switch {
	case errors.Is(err, backup.ErrNotSynced):
		return "Back up again: a loss of power could take that one away."
	case target == "-":
		return "No backup was written: do not keep what went to standard output."
	case !isMany(target):
		return leftOfFile(target)
	}
	text := fmt.Sprintf("No backup was added%s.", partialIn(target))
	if t.incremental {
		text = "No backup was added. The next one with --incremental uses whatever this one has stored."
	}
	return text + " The backups there are as they were."
}

// leftOfFile is left for a backup in a file.
func leftOfFile(path string) string {
	text := "No backup was written, and nothing of one is left."
	if exists(path + backup.Partial) {
		text = fmt.Sprintf("No backup was written. %s is left, and is none.", path+backup.Partial)
	}
	if exists(path) {
		text += fmt.Sprintf(" %s is what it was before.", path)
	}
	return text
}

// partialIn says of a folder whether a part of a backup is in it. What interrupted writes leave in a bucket is not
// seen here.
func partialIn(folder string) string {
	if isURL(folder) {
		return ""
	}
	names, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	for _, f := range names {
		if whole, ok := strings.CutSuffix(f.Name(), backup.Partial); ok && backup.IsBackup(whole) {
			return fmt.Sprintf("; %s is left, and is none", filepath.Join(folder, f.Name()))
		}
	}
	return ", and nothing of one is left in " + folder
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
