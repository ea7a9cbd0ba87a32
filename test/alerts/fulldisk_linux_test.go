package alerts

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/testcluster"
)

// A disk that is full.
func TestFullDisk(t *testing.T) {
	require(t, "prometheus")
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=400m"); err != nil {
		t.Skipf("NOT TESTED: alerts of full disks. This test mounts a small disk, and may not: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	c := start(t, 1, func(n *testcluster.Node) { n.Dir = filepath.Join(disk, "data") })
	p := startPrometheus(t, "http", addrs(c)...)
	p.within("it is scraped", func() bool { return p.up() == 1 })
	p.firesOnly()
	fill := filepath.Join(disk, "other-program")
	var free syscall.Statfs_t
	must(t, syscall.Statfs(disk, &free))
	must(t, os.WriteFile(fill, make([]byte, int(free.Bavail-1)*int(free.Bsize)), 0o600))
	p.fires("TurnlogDiskBelowReserve", "TurnlogReadOnly", "TurnlogDiskFillsUp")
	must(t, os.Remove(fill))
	p.within("there is room again", func() bool {
		firing, err := p.firing()
		return err == nil && !slices.Contains(firing, "TurnlogDiskBelowReserve") &&
			!slices.Contains(firing, "TurnlogReadOnly")
	})
}
