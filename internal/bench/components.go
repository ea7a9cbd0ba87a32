package bench

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Component is a part of a node's program, in the words of ARCHITECTURE.md.
type Component string

const (
	componentScheduler Component = "Go's scheduler"
	componentGC        Component = "Go's garbage collector"
	componentOther     Component = "other"
)

const module = "github.com/turnlog/turnlog/"

// packages says which component's time that of a package is. Packages that are not
// here, the standard library's among them, work for their callers.
var packages = []struct {
	prefix    string
	component Component
}{
	{module + "internal/server/redis", "server/redis"},
	{module + "internal/server/httpapi", "server/httpapi"},
	{module + "internal/resp", "resp"},
	{module + "raftstore", "raftstore"},
	{module + "wal", "wal"},
	{module + "fsm", "fsm"},
	{module + "internal/codec", "codec, msgpack"},
	{module + "internal/peer", "peer"},
	{"github.com/vmihailenco/", "codec, msgpack"},
	{"github.com/tidwall/", "fsm"},
	{"github.com/hashicorp/", "hashicorp/raft"},
	{"go.etcd.io/bbolt", "bbolt"},
}

// components lists all components, in the order of a request's way.
func components() []Component {
	return []Component{"server/redis", "server/httpapi", "resp", "codec, msgpack", "raftstore", "peer",
		"hashicorp/raft", "wal", "fsm", "bbolt",
		componentGC, componentScheduler, componentOther}
}

// collecting and scheduling are functions of Go's runtime: whatever they call is
// done for them, by any caller.
var (
	collecting = []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge",
		"runtime.gcStart",
		"runtime.gcMarkDone", "runtime.(*mheap).nextSpanForSweep", "runtime.deductSweepCredit"}
	scheduling = []string{"runtime.schedule", "runtime.park_m", "runtime.goschedImpl", "runtime.exitsyscall0",
		"runtime.ready", "runtime.wakep",
		"runtime.startm", "runtime.stopm", "runtime.sysmon", "runtime.mstart1", "runtime.goexit0",
		"runtime.gopreempt_m"}
)

// componentOf tells for which component the processor worked in a sample, and whether it
// was in a system call.
func componentOf(s *profile.Sample) (component Component, system bool) {
	system = len(s.Location) > 0 && isSystemCall(innermost(s.Location[0]))
	for _, l := range s.Location {
		for _, line := range l.Line { // from the innermost of inlined calls on
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			switch {
			case slices.Contains(collecting, name):
				return componentGC, system
			case slices.Contains(scheduling, name):
				return componentScheduler, system
			}
			pkg := packageOf(name)
			for _, p := range packages {
				if within(pkg, p.prefix) {
					return p.component, system
				}
			}
		}
	}
	return componentOther, system
}

func innermost(l *profile.Location) string {
	if len(l.Line) == 0 || l.Line[0].Function == nil {
		return ""
	}
	return l.Line[0].Function.Name
}

// isSystemCall reports whether a function is one of the few that enter the kernel.
func isSystemCall(name string) bool {
	switch name {
	case "runtime.futex", "runtime.epollwait", "runtime.madvise", "runtime.usleep", "runtime.nanosleep",
		"runtime.write1", "runtime.mmap":
		return true
	}
	pkg := packageOf(name)
	return pkg == "syscall" || strings.HasPrefix(pkg, "internal/runtime/syscall")
}

// packageOf returns the path of a function's package.
func packageOf(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		return name[:slash+dot]
	}
	return name
}

// within reports whether a package is one, or in the directory, of a prefix.
func within(pkg, prefix string) bool {
	rest, ok := strings.CutPrefix(pkg, prefix)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/"))
}
