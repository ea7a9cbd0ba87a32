package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Machine describes where something was measured.
type Machine struct {
	Processors string        `json:"processors"`
	Memory     string        `json:"memory"`
	System     string        `json:"system"`
	Go         string        `json:"go"`
	Load       string        `json:"load"`              // load averages before the run: other work falsifies results
	SyncGrow   time.Duration `json:"sync_grow_ns"`      // sync after 4 KiB at the end of a file, median
	SyncReuse  time.Duration `json:"sync_overwrite_ns"` // sync after 4 KiB within a file, median
}

// DescribeMachine looks at this machine, and measures the disk under dir.
func DescribeMachine(dir string) Machine {
	m := Machine{
		Processors: fmt.Sprintf("%d × %s", runtime.NumCPU(), lineValue("/proc/cpuinfo", "model name")),
		Memory:     lineValue("/proc/meminfo", "MemTotal"),
		System:     runtime.GOOS + " " + firstWords("/proc/sys/kernel/osrelease", 1),
		Go:         runtime.Version(),
		Load:       firstWords("/proc/loadavg", 3),
	}
	m.SyncGrow, m.SyncReuse = measureSync(dir)
	return m
}

// lineValue returns what comes after the colon in the first line that begins
// with name; "" if there is none.
func lineValue(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func firstWords(file string, n int) string {
	text, _ := os.ReadFile(file)
	words := strings.Fields(string(text))
	return strings.Join(words[:min(n, len(words))], " ")
}

// measureSync returns how long it takes to make 4 KiB durable, at the end of a
// growing file and in one that was written before; 0 if it cannot be measured.
func measureSync(dir string) (grow, reuse time.Duration) {
	f, err := os.CreateTemp(dir, "turnlog-bench-sync-")
	if err != nil {
		return 0, 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	pass := func() time.Duration {
		var all []time.Duration
		block := make([]byte, 4096)
		for i := range 200 {
			begun := time.Now()
			if _, err := f.WriteAt(block, int64(i*len(block))); err != nil {
				return 0
			}
			if err := syncData(f); err != nil {
				return 0
			}
			all = append(all, time.Since(begun))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return pass(), pass()
}
