package turnlog_test

import (
	"fmt"
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

// memoryDirs returns the directories of a process's nodes in memory.
func memoryDirs(t *testing.T, pid int) (dirs []string) {
	t.Helper()
	for _, parent := range slices.Compact([]string{"/dev/shm", filepath.Clean(os.TempDir())}) {
		found, err := filepath.Glob(filepath.Join(parent, fmt.Sprintf("turnlog-memory-%d-*", pid)))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs) // the two may be one
	return slices.Compact(dirs)
}

// A node in memory begins empty, is apart from others, and leaves nothing.
func TestMemoryIsApartAndEnds(t *testing.T) {
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
	if dirs := memoryDirs(t, os.Getpid()); len(dirs) != 2 {
		t.Errorf("two nodes are in %q", dirs)
	}
	for _, db := range dbs {
		for range 2 {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if dirs := memoryDirs(t, os.Getpid()); len(dirs) != 0 {
		t.Errorf("they left %q", dirs)
	}
}

// What a killed process leaves is removed by the next node in memory.
func TestMemoryOfAKilledProcess(t *testing.T) {
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
	left := memoryDirs(t, cmd.Process.Pid)
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
