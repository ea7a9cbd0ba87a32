package badstores_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/badstores"
	"github.com/turnlog/turnlog/contract/memory"
)

func TestMain(m *testing.M) {
	if writer, err := badstores.WriterMain(context.Background(), os.Stdin, os.Stdout); writer {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

// run keeps the directories of stores together.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "turnlog-badstores-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
}

// seeds is how often each defect must be found: a few times, or fifty in the long
// form, TURNLOG_LONG=1.
func seeds() uint64 {
	if os.Getenv("TURNLOG_LONG") != "" {
		return 50
	}
	return 2
}

// everySeed runs a case with each seed on a new target, several at a time, and
// returns the first result that is not as wanted.
func everySeed(t *testing.T, name string, want contract.Status, target func() contract.Target) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(10)
	for seed := range seeds() {
		group.Go(func() error {
			s := contract.Suite{Target: target(), Seed: seed + 1, Cases: []string{name}}
			report, err := s.Verify(t.Context())
			if err != nil {
				return err
			}
			if r := report.Results[0]; r.Status != want {
				return fmt.Errorf("seed %d: %s: %s %s", seed+1, name, r.Status, r.Detail)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// TestEachIsCaught: every defect is found by the cases that are there for it, with
// every seed.
func TestEachIsCaught(t *testing.T) {
	for _, bad := range badstores.All() {
		for _, name := range append([]string{bad.Caught}, bad.Also...) {
			t.Run(bad.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				if bad.ByChance {
					someTry(t, name, bad.Target)
					return
				}
				everySeed(t, name, contract.Failed, bad.Target)
			})
		}
	}
}

// someTry requires that a defect which shows by chance is found in one of some tries.
func someTry(t *testing.T, name string, target func() contract.Target) {
	const tries = 12
	for seed := range uint64(tries) {
		s := contract.Suite{Target: target(), Seed: seed + 1, Cases: []string{name}}
		report, err := s.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if report.Results[0].Status == contract.Failed {
			return
		}
	}
	t.Errorf("%s does not find it in %d tries", name, tries)
}

// TestTheCorrectStoreIsNotAccused: of anything that the bad ones are.
func TestTheCorrectStoreIsNotAccused(t *testing.T) {
	names := map[string]bool{}
	for _, bad := range badstores.All() {
		for _, name := range append(bad.Also, bad.Caught) {
			names[name] = true
		}
	}
	for name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everySeed(t, name, contract.Passed, func() contract.Target {
				if name == "restart/blue-green" {
					return badstores.Files()
				}
				server := memory.New()
				target := server.Target()
				for i := range target.Restarts { // as if its memory were on disk
					target.Restarts[i].Do = func(context.Context) error { return nil }
				}
				target.Line = func(context.Context) (contract.Line, error) { return server.Line(), nil }
				return target
			})
		})
	}
}

// TestStrictStoresAreNotAccused: of anything. They are correct, and refuse clearly
// what they cannot hold.
func TestStrictStoresAreNotAccused(t *testing.T) {
	for name, refuses := range map[string]func(key string, turn []contract.Message) bool{
		"slashes":     func(key string, _ []contract.Message) bool { return strings.ContainsAny(key, `/\`) },
		"long keys":   func(key string, _ []contract.Message) bool { return len(key) > 128 },
		"odd letters": func(key string, _ []contract.Message) bool { return strings.ContainsFunc(key, isOdd) },
		"long turns":  func(_ string, turn []contract.Message) bool { return len(turn) > 100 },
		"numbers":     func(_ string, turn []contract.Message) bool { return slices.ContainsFunc(turn, hasLongNumber) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := memory.New()
			open := func(context.Context) (contract.Store, error) { return strict{server.Open(), refuses}, nil }
			s := contract.Suite{Target: contract.Target{Name: name, Open: open, Claims: memory.Claims()},
				Gates: []contract.Gate{contract.Sequential, contract.Isolation, contract.Edges}}
			s.Run(t)
		})
	}
}

func isOdd(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-'
}

var longNumber = regexp.MustCompile(`[0-9]{16}`)

// hasLongNumber: the calls of m have arguments that are no numbers in JavaScript.
func hasLongNumber(m contract.Message) bool {
	return slices.ContainsFunc(m.ToolCalls,
		func(c contract.ToolCall) bool { return longNumber.MatchString(c.Arguments) })
}

// strict refuses some keys, for whatever is done with them, and some turns.
type strict struct {
	*memory.Handle
	refuses func(key string, turn []contract.Message) bool
}

// Supports leaves out what takes long and is not refused.
func (s strict) Supports(c contract.Capability) bool { return c != contract.CanExpire }

func (s strict) Add(ctx context.Context, session string, turn ...contract.Message) error {
	if s.refuses(session, turn) {
		return contract.Refusef("such a key or turn")
	}
	return s.Handle.Add(ctx, session, turn...)
}

func (s strict) Load(ctx context.Context, session string) ([]contract.Message, error) {
	if s.refuses(session, nil) {
		return nil, contract.Refusef("such a key")
	}
	return s.Handle.Load(ctx, session)
}

func (s strict) Clear(ctx context.Context, session string) error {
	if s.refuses(session, nil) {
		return contract.Refusef("such a key")
	}
	return s.Handle.Clear(ctx, session)
}
