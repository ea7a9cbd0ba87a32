package backups

import (
	"os"
	"path/filepath"
	"strings"
)

// isFolder reports whether a target is a folder of backups.
func isFolder(target string) bool {
	info, err := os.Stat(target)
	return strings.HasSuffix(target, string(filepath.Separator)) || err == nil && info.IsDir()
}
