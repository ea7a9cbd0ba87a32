package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// asProgram makes this test's binary a program of load for a store of files.
const asProgram = "TURNLOG_BENCH_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	open := func(_ context.Context, addr string) (target.StoreClient, error) {
		_, err := os.Stat(addr)
		return files(addr), err
	}
	if err := Perform(context.Background(), os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// files is a store: a directory that has a line for each message, in a file for
// each session.
type files string

func (d files) Append(_ context.Context, session string, messages [][]byte) error {
	f, err := os.OpenFile(filepath.Join(string(d), session), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(bytes.Join(messages, []byte("\n")), '\n'))
	return err
}

func (d files) Read(_ context.Context, session string, n int) error {
	text, err := os.ReadFile(filepath.Join(string(d), session))
	if have := bytes.Count(text, []byte("\n")); err == nil && have < n {
		err = fmt.Errorf("%s has %d messages", session, have)
	}
	return err
}

func (d files) Close() error { return nil }

// A program, as a process of its own, fills a store and runs workloads on it, and
// its results come back.
func TestProgram(t *testing.T) {
	t.Setenv(asProgram, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	target := target.Target{Name: "files", Program: self, Addrs: []string{dir}, Processes: []int{os.Getpid()}}
	cfg := Config{Clients: 3, Duration: 500 * time.Millisecond, Sessions: 4, Size: 40, Last: 5, Prefix: "p-"}
	run := func(name string) (Result, error) {
		w, err := FindWorkload(name)
		if err != nil {
			t.Fatal(err)
		}
		return Run(t.Context(), target, w, cfg, new(generator.Live))
	}
	if _, err := run("read"); err == nil || !strings.Contains(err.Error(), "nothing succeeded") {
		t.Errorf("reads of an empty store: %v", err)
	}
	if err := Fill(t.Context(), target, cfg, cfg.Last, new(generator.Live)); err != nil {
		t.Fatal(err)
	}
	for i := range cfg.Sessions {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p-%d", i)))
		if err != nil || len(text) != cfg.Last*(cfg.Size+1) {
			t.Errorf("session %d is filled with %d bytes, %v", i, len(text), err)
		}
	}
	for _, name := range []string{"append", "chat"} {
		r, err := run(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Workload != name || r.Target != "files" || r.Clients != 3 || r.Elapsed != cfg.Duration ||
			r.Operations == 0 ||
			r.Errors > 0 || r.PerSecond <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.RSS == 0 {
			t.Errorf("%+v", r)
		}
	}
	target.Program = "/bin/true"
	if _, err := run("append"); err == nil || !strings.Contains(err.Error(), "no result") {
		t.Errorf("a program that says nothing: %v", err)
	}
	target.Program, target.Addrs = self, []string{filepath.Join(dir, "missing")}
	if _, err := run("append"); err == nil || !strings.Contains(err.Error(), "connecting to "+target.Addrs[0]) {
		t.Errorf("a store that is not there: %v", err)
	}
}

// A job's JSON is that which programs built earlier understand; they refuse what
// they do not.
func TestJobForm(t *testing.T) {
	text, err := json.Marshal(&Job{Addr: "h:1", Processes: []int{7}, Target: "s", Workload: "append",
		Config: Config{Clients: 2, Duration: time.Second}})
	const form = `{"addr":"h:1","processes":[7],"target":"s","workload":"append","config":{"Clients":2,"Duration":1000000000,` +
		`"WarmUp":0,"Sessions":0,"Size":0,"Last":0,"Prefix":"","Seed":0,"Goroutines":false}}`
	if string(text) != form {
		t.Errorf("%s, %v", text, err)
	}
	for in, want := range map[string]string{
		`{"config":{"Speed":1}}`: "Speed", `{"workload":"sing"}`: `no workload "sing"`, ``: "reading the job",
	} {
		if err := Perform(t.Context(), strings.NewReader(in), new(bytes.Buffer), nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
