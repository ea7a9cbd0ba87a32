package backup

import (
	"slices"
	"testing"
	"time"
)

// Backups that were begun at one log entry within a second are two, and their names are in the order in which they were
// begun.
func TestNamesWithinASecond(t *testing.T) {
	d := Description{ClusterID: "c", Index: 7, Created: time.UnixMilli(1_700_000_000_009)}
	var names []string
	for range 3 {
		names = append(names, d.Name(), d.name(splitExt))
		if !IsBackup(d.Name()) || !IsBackup(d.name(splitExt)) {
			t.Errorf("%s is no name of a backup", d.Name())
		}
		d.Created = d.Created.Add(300 * time.Millisecond)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("the names are %q", names)
	}
}
