package target

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/turnlog/turnlog/contract"
)

// writerEnv makes a copy of the test program a writer process.
const writerEnv = "TURNLOG_TEST_WRITER"

func TestMain(m *testing.M) {
	if url := os.Getenv(writerEnv); url != "" {
		if err := writer(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(adapterEnv) != "" {
		if err := serveAdapter(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func writer(url string) error {
	ctx := context.Background()
	t, err := Open(ctx, url, Options{})
	if err != nil {
		return err
	}
	defer t.Close()
	return contract.WriterMain(ctx, os.Stdin, os.Stdout, t.Open)
}

func copies(ctx context.Context, url string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+url)
	return cmd
}

func openTest(t *testing.T, url string, o Options) *Target {
	t.Helper()
	o.Copy = copies
	target, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// long reports whether the long form of the tests is wanted.
func long() bool { return os.Getenv("TURNLOG_LONG") != "" }

// verdict runs cases and returns their results.
func verdict(t *testing.T, target *Target, seed uint64, cases ...string) map[string]contract.Result {
	t.Helper()
	s := contract.Suite{Target: target.Target, Seed: seed, Cases: cases}
	report, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]contract.Result{}
	for _, r := range report.Results {
		out[r.Case.ID()] = r
	}
	return out
}

// shortCases are, of the gates in which much is waited for, what the short form of
// the tests runs; of the others, it runs all.
var shortCases = map[contract.Gate][]string{
	contract.Isolation: {"same-instant*", "similar-keys", "clear-one", "trim-one", "namespaces"},
	contract.Edges:     {"ttl-refreshed", "any-bytes", "long-history", "control-bytes", "odd-keys"},
	contract.Faults: {"save-cut-*", "load-cut", "hidden-retries", "cancelled*", "async-*", "unreadable-row",
		"pool-exhausted"},
	contract.Restarts: {"kill-while-saving", "order-goes-on", "popped-*", "blue-green"},
}

// runGates holds a target to the contract: in the long form, to all of it.
func runGates(t *testing.T, target *Target) {
	for _, gate := range contract.Gates {
		cases := shortCases[gate]
		if long() {
			cases = nil
		}
		suite := contract.Suite{Target: target.Target, Gates: []contract.Gate{gate}, Cases: cases}
		suite.Run(t)
	}
}
