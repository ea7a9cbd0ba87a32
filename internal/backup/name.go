package backup

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

const (
	prefix   = "turnlog-"
	ext      = ".tlb"
	splitExt = ".tli"
)

// IsObject reports whether a storage may have an object of that name: a backup, or a pack.
func IsObject(name string) bool {
	pack, inPacks := strings.CutPrefix(name, packDir+"/")
	return !strings.Contains(pack, "/") && (inPacks && isPack(pack) || !inPacks && IsBackup(name))
}

// IsBackup reports whether a backup may have that name.
func IsBackup(name string) bool {
	return strings.HasPrefix(name, prefix) && (strings.HasSuffix(name, ext) || isSplit(name))
}

// isSplit reports whether a backup of that name has its state in packs.
func isSplit(name string) bool { return strings.HasSuffix(name, splitExt) }

// Name returns the name of a backup in a storage: by time, then log entry, then cluster, so that those of two clusters
// have different names.
func (d *Description) Name() string { return d.name(ext) }

func (d *Description) name(ext string) string {
	sum := sha256.Sum256([]byte(d.ClusterID)) // an id could be no part of a name
	return fmt.Sprintf("%s%s-%d-%x%s", prefix, d.Created.UTC().Format("20060102T150405.000Z"), d.Index, sum[:6], ext)
}
