package turnlog_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/target"
)

// memoryEnv has the test binary open a node in memory, and wait to be killed.
const memoryEnv = "TURNLOG_TEST_IN_MEMORY"

// TestMemoryContract: the double for unit tests is held to what the node itself is.
func TestMemoryContract(t *testing.T) {
	db, err := turnlog.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	suite := contract.Suite{Target: target.Clients("contract",
		func(namespace string) (*client.Client, error) { return db.Namespace(namespace) })}
	suite.Run(t)
}

func memoryDirs(t *testing.T) (dirs []string) {
	t.Helper()
	for _, parent := range []string{"/dev/shm", os.TempDir()} {
		found, err := filepath.Glob(filepath.Join(parent, "turnlog-memory-*"))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	return dirs
}

// added returns what is in dirs now and was not before.
func added(t *testing.T, before []string) []string {
	t.Helper()
	return slices.DeleteFunc(memoryDirs(t), func(d string) bool { return slices.Contains(before, d) })
}

// A node in memory begins empty, is nobody else's, and leaves nothing.
func TestMemoryIsApartAndEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var dbs []*turnlog.DB
	for range 2 {
		db, err := turnlog.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		dbs = append(dbs, db)
		if r := add(t, db, "alice", "hi"); r.First != 1 {
			t.Errorf("the first message is %d", r.First)
		}
	}
	if got := texts(t, dbs[0], "alice"); !slices.Equal(got, []string{"hi"}) { // the other one removed nothing of it
		t.Errorf("read %q", got)
	}
	for _, db := range dbs {
		for range 2 {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a killed process leaves is removed by the next node in memory.
func TestMemoryOfAKilledProcess(t *testing.T) {
	before := memoryDirs(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), memoryEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	left := added(t, before)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	db, err := turnlog.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if len(left) == 0 {
		t.Error("the process had no directory")
	}
	for _, dir := range left {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}
