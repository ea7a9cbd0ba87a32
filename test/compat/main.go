// Compat drives chat histories of published libraries, unmodified, against a cluster
// of real processes whose nodes are killed meanwhile, and judges what was kept.
//
//	go run ./test/compat                        # every library, both modes
//	go run ./test/compat --short                # what CI runs: a few, and another one each day
//	go run ./test/compat --handshakes           # what clients send on connecting
//	go run ./test/compat --hostile              # ten thousand connections, and clients that never read
//
// The exit status is 0 if nothing was lost, reordered or foreign, nothing doubled
// where no client resends, and the documented handshakes are the real ones; 1 if not;
// 2 if the program could not do its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// arguments are the command line.
type arguments struct {
	short      bool
	handshakes bool
	hostile    bool
	write      bool
	parts      bool
	libraries  string
	modes      string
	time       time.Duration
	binary     string
	out        string
	installed  string
}

func main() {
	var a arguments
	a.register(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	passed, err := a.run(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "compat:", err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

func (a *arguments) register(fs *flag.FlagSet) {
	fs.BoolVar(&a.short, "short", false, "a few libraries, for a short time")
	fs.BoolVar(&a.handshakes, "handshakes", false,
		"instead, record what clients send on connecting, and compare it with "+page)
	fs.BoolVar(&a.hostile, "hostile", false,
		"instead, hold ten thousand connections open, and send requests whose replies no client reads")
	fs.BoolVar(&a.parts, "parts", false, "instead, print what test/compat/install.sh installs for the chosen libraries")
	fs.BoolVar(&a.write, "write", false, "put the results into "+page)
	fs.StringVar(&a.libraries, "library", "",
		"which to drive, separated by commas; turnlog.* is all that begin so (default: all)")
	fs.StringVar(&a.modes, "mode", "", "kept: their node is never killed; killed: it is; both by default")
	fs.DurationVar(&a.time, "time", time.Minute, "how long each mode lasts")
	fs.StringVar(&a.binary, "binary", "bin/turnlog", "the turnlog to test")
	fs.StringVar(&a.out, "out", filepath.Join(os.TempDir(), "turnlog-compat"), "where each run gets a directory")
	fs.StringVar(&a.installed, "installed", "bin/compat", "where test/compat/install.sh has put the libraries")
}

func (a *arguments) run(ctx context.Context) (bool, error) {
	if a.parts {
		return true, a.printParts()
	}
	dir := filepath.Join(a.out, time.Now().Format("20060102-150405.000"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	installed, err := filepath.Abs(a.installed)
	if err != nil {
		return false, err
	}
	switch {
	case a.handshakes:
		return a.runHandshakes(ctx, dir, installed)
	case a.hostile:
		return runHostile(ctx, a.binary, dir)
	}
	return a.runLibraries(ctx, dir, installed)
}

// runLibraries drives the chosen libraries in the chosen modes and prints what
// came of it.
func (a *arguments) runLibraries(ctx context.Context, dir, installed string) (bool, error) {
	chosen, err := a.choose()
	if err != nil {
		return false, err
	}
	p, err := drivers(ctx, chosen.libraries, dir, installed)
	if err != nil {
		return false, err
	}
	passed := true
	var tables []string
	for _, m := range chosen.modes {
		fmt.Printf("%s: %s, for %v\n", m.name, m.about, chosen.time)
		s := faultRun{mode: m, binary: a.binary, dir: filepath.Join(dir, m.name), time: chosen.time}
		results, err := s.run(ctx, chosen.libraries, p)
		if err != nil {
			return false, fmt.Errorf("%s (see %s): %w", m.name, dir, err)
		}
		text := table(results)
		fmt.Printf("\n%s\nErrors that the applications saw, reads included:\n%s\n%d leaders killed, %d nodes of the "+
			"libraries killed\n",
			text, errorsSeen(results), s.leaderKills, s.ownKills)
		tables = append(tables, fmt.Sprintf("**%s** (%d kills in %v)\n\n%s", m.title, s.leaderKills+s.ownKills,
			chosen.time, text))
		for _, r := range results {
			for _, problem := range r.problems() {
				fmt.Printf("FAILED: %s, %s: %s\n", m.name, r.subject.name, problem)
				passed = false
			}
		}
	}
	fmt.Printf("record: %s\n%s\n", dir, map[bool]string{true: "passed", false: "FAILED"}[passed])
	if a.write && passed {
		head := fmt.Sprintf("%s, commit %s, `make compat ARGS=--write`:", time.Now().Format(time.DateOnly),
			cluster.Commit(ctx))
		return passed, rewrite("results", head+"\n\n"+strings.Join(tables, "\n"))
	}
	return passed, nil
}

// printParts prints what the chosen libraries need, a line.
func (a *arguments) printParts() error {
	chosen, err := a.choose()
	if err != nil {
		return err
	}
	var parts []string
	for _, l := range chosen.libraries {
		if part := l.part(); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	fmt.Println(strings.Join(parts, " "))
	return nil
}

// choice is what to run.
type choice struct {
	libraries []library
	modes     []mode
	time      time.Duration
}

const shortTime = 12 * time.Second

func (a *arguments) choose() (choice, error) {
	c := choice{time: a.time, modes: modes()}
	if a.short {
		c.time = shortTime
	}
	if a.modes != "" {
		c.modes = nil
		for _, m := range modes() {
			if strings.Contains(","+a.modes+",", ","+m.name+",") {
				c.modes = append(c.modes, m)
			}
		}
	}
	names := strings.Split(a.libraries, ",")
	daily := today(libraries(), time.Now()).name
	for _, l := range libraries() {
		wanted := a.libraries == "" && (!a.short || l.short || l.name == daily)
		for _, n := range names {
			matched, err := path.Match(n, l.name)
			if err != nil {
				return c, fmt.Errorf("--library %s: %w", n, err)
			}
			wanted = wanted || matched
		}
		if wanted {
			c.libraries = append(c.libraries, l)
		}
	}
	if len(c.libraries) == 0 || len(c.modes) == 0 {
		return c, errors.New("no such library or mode")
	}
	return c, nil
}
