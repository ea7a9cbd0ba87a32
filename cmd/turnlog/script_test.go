package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata/script expect")

// TestScripts plays testdata/script: the command line against real nodes. Besides the commands of
// testscript, a script has
//
//	node ID FLAGS…        starts a node, waits until it is ready, and directs commands to it
//	joiner ID FLAGS…      starts one that waits to be added; $ID_RAFT is its address
//	stop ID               stops a node by SIGTERM; it must end with status 0
//	healthy ARGS…         waits until turnlog cluster health, with these flags, ends with status 0
//	turnlog ARGS…         must end with status 0
//	status N ARGS…        turnlog must end with status N
//	timeless FILE         writes the last output to a file, with 0 for each time of a message
//	password USER ARGS…     is turnlog; what it prints goes to the file USER.password
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"node":     func(ts *testscript.TestScript, _ bool, args []string) { scriptNode(ts, false, args) },
			"joiner":   func(ts *testscript.TestScript, _ bool, args []string) { scriptNode(ts, true, args) },
			"stop":     scriptStop,
			"healthy":  scriptHealthy,
			"turnlog":  func(ts *testscript.TestScript, neg bool, args []string) { scriptTurnlog(ts, neg, 0, args) },
			"status":   scriptStatus,
			"timeless": scriptTimeless,
			"password": scriptPassword,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("TURNLOG_ADDR", "127.0.0.1:1") // before the first node: no server
			e.Values[scriptNodes{}] = map[string]*scriptProcess{}
			return nil
		},
	})
}

func scriptHealthy(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(binary, append([]string{"cluster", "health"}, args...)...)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the cluster is not healthy within a minute: %v", err)
		}
	}
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	scriptTurnlog(ts, neg, want, args[1:])
}

func scriptTurnlog(ts *testscript.TestScript, neg bool, want int, args []string) {
	if neg {
		ts.Fatalf("use status")
	}
	err := ts.Exec(binary, args...)
	status := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if status != want {
		ts.Fatalf("turnlog %q: status %d, want %d", args, status, want)
	}
}

var scriptTimes = regexp.MustCompile(`"time":[0-9]+`)

func scriptTimeless(ts *testscript.TestScript, _ bool, args []string) {
	text := scriptTimes.ReplaceAllString(ts.ReadFile("stdout"), `"time":0`)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

func scriptPassword(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command(binary, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	out, err := cmd.Output()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".password"), out, 0o600))
}

// TestScriptsCoverCommands: every command that works with a node is in a script.
func TestScriptsCoverCommands(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, strings.Fields(string(text))...)
	}
	a := &cli.App{Getenv: func(string) string { return "" }}
	for _, c := range root(a).Commands() {
		if c.Hidden || slices.Contains([]string{"bench", "cert", "debug", "dev", "serve", "verify", "wal"}, c.Name()) {
			continue // they have tests of their own
		}
		if !slices.Contains(words, c.Name()) {
			t.Errorf("no script uses turnlog %s", c.Name())
		}
	}
}
