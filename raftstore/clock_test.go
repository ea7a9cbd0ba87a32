package raftstore

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/clustertime"
)

// What a node learned of another's clock when that was wrong must not count when its
// own is: it takes cluster time from what the others say now.
func TestStaleOffsetsDoNotCount(t *testing.T) {
	const fast = 2 * time.Hour
	c := newCluster(t, 3, func(cfg *Config) {
		if cfg.NodeID == "n1" {
			cfg.Clock = skewedClock(fast)
		}
	})
	defer c.killAll()
	n1 := c.nodes["n1"]
	for c.leader() == n1 {
		_ = n1.TransferLeadership(t.Context())
	}
	c.keepConnections(n1, "n3") // so that none has to be made, with another handshake
	for c.leader() != n1 {
		n1.offsets.Note("n3", -fast+10*time.Second, n1.cfg.Clock.Now())
		_ = c.leader().raft.Load().LeadershipTransferToServer("n1", raft.ServerAddress(c.addrs["n1"])).Error()
	}
	put(t, c.leader(), "s", "x")
	ahead := time.Duration(n1.data.State.Clock()-time.Now().UnixMilli()) * time.Millisecond
	if ahead > clustertime.Tolerated {
		t.Errorf("cluster time is ahead by %v", ahead)
	}
}

// wallTime is what makes wall time of a time, and may: none of it is for an interval. See
// wallUses for the names.
var wallTime = map[string]string{
	"cmd/turnlog/internal/backups/metrics.go: writeMetrics calls UnixMilli": "told to people",
	"cmd/turnlog/internal/session/read.go: moment calls UnixMilli":          "a time that a person asks for",
	"client/session.go: unixMilli calls Unix":                               "a deadline that is sent",
	"client/session.go: unixMilli calls UnixMilli":                          "a deadline that is sent",
	"cmd/turnlog/internal/otlp/message.go: nanos calls UnixNano":            "told to people",
	"contract/badstores/damage.go: stamp calls UnixMilli":                   "wrong on purpose",
	"contract/internal/clock/clock_other.go: Now calls UnixNano": "where no other clock is shared by " +
		"processes",
	"internal/bench/background.go: startBackground calls UnixNano":          "a seed",
	"internal/bench/etcd/main.go: main calls UnixNano":                      "a number that no earlier run had",
	"internal/bench/expiry.go: fillUntil calls UnixNano":                    "a seed",
	"internal/bench/run.go: Fill calls UnixNano":                            "a seed",
	"internal/bench/run.go: Run calls UnixNano":                             "a seed",
	"internal/clustertime/offsets.go: Note calls Round":                     "what notices that the wall clock jumps",
	"internal/clustertime/offsets.go: jumped calls Round":                   "what notices that the wall clock jumps",
	"internal/clustertime/source.go: NewSource calls UnixMilli":             "where cluster time begins",
	"internal/node/metrics.go: unixSeconds calls UnixMicro":                 "told to people",
	"internal/peer/facts.go: appendFacts calls UnixMilli":                   "what a node's wall clock shows",
	"internal/raftlog/wal.go: appendMeta calls UnixNano":                    "told to people",
	"internal/server/redis/command/admin.go: serverTime calls Unix":         "told to people",
	"internal/server/redis/command/backend.go: clusterTime calls UnixMilli": "an estimate of cluster time",
	"internal/server/redis/info.go: infoServer calls UnixMicro":             "told to people",
	"raftstore/leaderterm.go: askClocks calls Round": "what another node's wall clock is " +
		"compared with",
	"raftstore/status.go: status calls UnixMilli":       "what a node's wall clock shows",
	"test/compat/library.go: today calls Unix":          "a day that chooses what is tested",
	"wal/waltest/waltest.go: testRandom calls UnixNano": "a seed",
}

// An interval between two readings of the wall clock jumps with it. One between two of
// time.Time does not, as long as none of them has lost its monotonic reading.
func TestIntervalsAreNotMeasuredWithWallTime(t *testing.T) {
	unused := maps.Clone(wallTime)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (d.Name()[0] == '.' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, use := range wallUses(file) {
			use = filepath.ToSlash(path[len("../"):]) + ": " + use
			delete(unused, use)
			if wallTime[use] == "" {
				t.Errorf("%s: may intervals be measured with it?", use)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for use := range unused {
		t.Errorf("%s: there is no such use any more", use)
	}
}

// wallUses returns the calls in a file that turn a time into wall time, each with the
// function that it is in. Those of package time make a time of a number.
func wallUses(file *ast.File) (uses []string) {
	for _, d := range file.Decls {
		in := "outside of functions"
		if f, ok := d.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && makesWallTime(f.Sel.Name, call.Args) {
					uses = append(uses, in+" calls "+f.Sel.Name)
				}
			}
			return true
		})
	}
	return uses
}

func makesWallTime(method string, args []ast.Expr) bool {
	switch method {
	case "Unix", "UnixMilli", "UnixMicro", "UnixNano":
		return len(args) == 0
	case "Round", "Truncate":
		if len(args) == 1 {
			v, ok := args[0].(*ast.BasicLit)
			return ok && v.Value == "0"
		}
	}
	return false
}

// What turns a time into wall time is found wherever it stands.
func TestWallUses(t *testing.T) {
	const head = "package p\n\nfunc f() { "
	for code, want := range map[string]int{
		"a := now.UnixNano(); b := c.Now().UnixMilli() - a":                    2,
		"func() { _ = time.Now().Round(0).Sub(then.Truncate(0)) }":             2,
		"d := time.Unix(0, n).Sub(a) + time.UnixMicro(now.UnixMicro()).Sub(a)": 1,
		"d := time.Since(then).Round(time.Second); _ = now.Sub(a)":             0,
		`s := "now.UnixNano()" // now.Unix()`:                                  0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", head+code+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := wallUses(file); len(got) != want {
			t.Errorf("%s: %q", code, got)
		}
	}
}
