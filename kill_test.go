package turnlog_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/turn"
)

// writerEnv has the test binary append to the embedded node in that directory until it is killed.
const writerEnv = "TURNLOG_TEST_EMBEDDED_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		if err := write(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(memoryEnv) != "" {
		if _, err := turnlog.OpenMemory(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("open")
		select {} // until it is killed
	}
	os.Exit(m.Run())
}

// write appends from several goroutines, and prints the id of each message once it is acknowledged.
func write(dir string) error {
	db, err := turnlog.Open(dir)
	if err != nil {
		return err
	}
	var out sync.Mutex
	failed := make(chan error)
	for g := range 8 {
		session := db.Session(fmt.Sprint("s", g))
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				if _, err := session.Append(context.Background(),
					turn.NewMessage{ID: id, Data: []byte(id)}); err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Printf("s%d %s\n", g, id)
				out.Unlock()
			}
		}()
	}
	return <-failed
}

// A process with an embedded node that is killed loses no append that was acknowledged, and stores
// none twice.
func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	var acknowledged []string // "session id"
	for range 3 {
		acknowledged = append(acknowledged, writeAndKill(t, dir)...)
	}
	db := open(t, dir)
	var found []string
	for g := range 8 {
		session := fmt.Sprint("s", g)
		for m, err := range db.Session(session).All(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, session+" "+string(m.Data))
		}
	}
	slices.Sort(found)
	if n := len(found); len(slices.Compact(slices.Clone(found))) != n {
		t.Errorf("of %d messages some are stored twice", n)
	}
	for _, m := range acknowledged {
		if _, ok := slices.BinarySearch(found, m); !ok {
			t.Errorf("acknowledged, and lost: %s", m)
		}
	}
	t.Logf("%d messages were acknowledged, %d are stored", len(acknowledged), len(found))
}

// writeAndKill runs a writer until it has appended a few hundred messages, kills it, and returns what
// it has printed.
func writeAndKill(t *testing.T, dir string) (printed []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil { // without its end the line is none
			break
		}
		if printed = append(printed, strings.TrimSuffix(line, "\n")); len(printed) == 300 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(printed) < 300 {
		t.Fatalf("the writer ended by itself after %d messages: %v", len(printed), err)
	}
	return printed
}
