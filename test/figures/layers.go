package main

import (
	"strings"
)

// layers are the packages from the top down, as the map in ARCHITECTURE.md has them: a package imports
// what is below it. A name also stands for the packages in its directory.
var layers = [][]string{
	{"cmd/turnlog"},
	{"test", "compat"},
	{"cluster-test"},
	{"contract/target", "contract/internal/servers", "sdk/go"},
	{"client/turnlogtest", "internal/bench", "bench"},
	{"."},
	{"client"},
	{"internal/node"},
	{"internal/server", "server"},
	{"internal/config/flags"},
	{"internal/auth", "access", "internal/migrate", "migrate"},
	{"raftstore"},
	{"internal/members"},
	{"internal/levels", "internal/group"},
	{"internal/rollback", "internal/membership", "internal/newcluster", "internal/requests"},
	{"internal/datadir"},
	{"internal/propose", "internal/snapshot", "internal/backup", "internal/ballot", "internal/readindex",
		"internal/staterepair", "internal/preference"},
	{"internal/raftlog", "fsm"},
	{"internal/diskspace", "internal/identity"},
	{"internal/codec", "codec", "internal/vote", "internal/config", "config"},
	{"wal", "internal/peer", "peer", "internal/broadcast", "internal/clustertime", "internal/smallfile"},
	{"contract", "internal/lincheck", "internal/testcluster", "internal/answers"},
	{"turn", "internal/vfs", "internal/resp", "resp", "internal/faultproxy", "internal/admintoken",
		"internal/handshakes", "internal/minrate"},
	{"internal/auth/certs", "certs"},
	{"internal/toolcalls", "internal/logtest", "internal/descriptors", "internal/throttle", "internal/ports",
		"internal/hangup",
		"internal/signal",
		"internal/raftlogger", "internal/histogram", "internal/trace"},
}

// layer is a package's place among the layers, or -1; the longest name counts.
func layer(dir string) (at int, name string) {
	at = -1
	for i, names := range layers {
		for _, n := range names {
			if (dir == n || strings.HasPrefix(dir, n+"/")) && len(n) > len(name) {
				at, name = i, n
			}
		}
	}
	return at, name
}

// importsBack lists the imports that run back, "A → B".
func (t *tree) importsBack() (list []string) {
	for _, p := range t.packages {
		from, fromName := layer(t.dir(p.PkgPath))
		for q := range p.Imports {
			if q != t.module && !strings.HasPrefix(q, t.module+"/") {
				continue
			}
			to, toName := layer(t.dir(q))
			if from >= 0 && to >= 0 && (to < from || to == from && fromName != toName) {
				list = append(list, t.dir(p.PkgPath)+" → "+t.dir(q))
			}
		}
	}
	return list
}

// unplaced lists the packages that layers does not know.
func (t *tree) unplaced() (list []string) {
	for _, p := range t.packages {
		if at, _ := layer(t.dir(p.PkgPath)); at < 0 {
			list = append(list, t.dir(p.PkgPath))
		}
	}
	return list
}
