// Benchgate compares the micro-benchmarks of the hot path in this tree with those in another commit,
// and fails if one became slower, or allocates more, by more than a ratio.
//
//	go run ./test/benchgate --base 1be4487
//
// The test binaries of both trees run in turns, so that what else the machine does disturbs both
// alike, and benchstat tells differences from noise. A benchmark that only one tree has is left out.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// A suite is the hot path's benchmarks in one package, with the names that the package had before.
type suite struct {
	dirs       []string
	benchmarks string
}

// hotPath is what an append or a read goes through: parsing, encoding, the log, the state machine,
// a node, and a whole call of the client.
var hotPath = []suite{
	{[]string{"internal/resp", "resp"}, "^Benchmark(Request|Reply)$"},
	{[]string{"internal/codec", "codec"}, "^Benchmark(Entry|Op)$"},
	{[]string{"wal"}, "^Benchmark(Append|Get)$"},
	{[]string{"fsm"}, "^Benchmark(Apply|ReadLast20|Flush)$"},
	{[]string{"raftstore"}, "^Benchmark(Append|Read)$"},
	{[]string{"."}, "^BenchmarkCalls$"},
}

type options struct {
	base      string
	ratio     float64
	rounds    int
	benchtime time.Duration
	benchstat string
}

func main() {
	var o options
	flag.StringVar(&o.base, "base", "main", "commit to compare with")
	flag.Float64Var(&o.ratio, "ratio", 1.03, "how much slower a benchmark may have become")
	flag.IntVar(&o.rounds, "rounds", 10, "how often each benchmark runs in each tree")
	flag.DurationVar(&o.benchtime, "benchtime", 300*time.Millisecond, "how long a benchmark runs each time")
	flag.StringVar(&o.benchstat, "benchstat",
		"golang.org/x/perf/cmd/benchstat@latest", "package and version of benchstat")
	flag.Parse()
	slower, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchgate:", err)
		os.Exit(2)
	}
	for _, s := range slower {
		fmt.Printf("%s: %.3f times the %s of before, more than %.3f\n", s.name, s.ratio, s.unit, o.ratio)
	}
	if len(slower) > 0 {
		os.Exit(1)
	}
}
