package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/backup/s3/s3test"
)

// startStore runs an object store that the commands of the test find.
func startStore(t *testing.T) *s3test.Server {
	t.Helper()
	store := s3test.Start(t)
	for _, v := range store.Env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return store
}

// fill appends so many messages of 1 MiB each that do not compress.
func (n *node) fill(session string, messages int) {
	n.shell.t.Helper()
	body := make([]byte, 1<<20)
	for range messages {
		_, _ = rand.Read(body) // cannot fail
		text := `{"messages":[{"data_base64":"` + base64.StdEncoding.EncodeToString(body) + `"}]}`
		if code, answer := n.post("POST", "/v1/sessions/"+session+"/messages", text); code != http.StatusOK {
			n.shell.t.Fatalf("an append: %d, %s", code, answer)
		}
	}
}

// startBackup begins a backup that takes a while, and waits until there is a file.
func (n *node) startBackup(file string, args ...string) *process {
	n.shell.t.Helper()
	p := startProcess(n.shell.t, []string{"TURNLOG_ADDR=" + n.addr},
		append([]string{"backup", "--rate", "6MiB"}, args...)...)
	p.until("there is "+file, func() bool {
		found, err := filepath.Glob(file)
		return err == nil && len(found) > 0
	})
	return p
}

// uploaded is the first part of an upload that is not completed.
func uploaded(store *s3test.Server) string {
	return filepath.Join(store.Dir, ".sgwtmp", "multipart", "*", "*", "1")
}

// expireLock makes the lock of a bucket that of a process that died long ago.
func expireLock(t *testing.T, store *s3test.Server) {
	t.Helper()
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(store.Dir, ".turnlog-backup.lock"), hour, hour); err != nil {
		t.Fatal(err)
	}
}

// A cluster is backed up into a bucket, with rotation, and restored from it.
func TestBackupInABucket(t *testing.T) {
	startStore(t)
	n := startNode(t, t.TempDir())
	n.ok("append", "chat:1", "hello", "--id", "a1")
	n.fill("large", 20) // two parts
	const target = "s3://bucket/turnlog/prod"
	for i := range 3 {
		n.ok("append", "chat:1", fmt.Sprint("message ", i))
		says(t, n.ok("backup", target, "--keep", "2"), "s3://bucket/turnlog/prod/turnlog-", " 2 sessions with ")
	}
	list := strings.Split(strings.TrimSpace(n.ok("backup", "list", target)), "\n")
	if len(list) != 3 {
		t.Fatalf("the list is %q", list)
	}
	if sound := n.ok("backup", "verify", target); strings.Count(sound, "sound: s3://") != 2 {
		t.Errorf("verify says %s", sound)
	}
	last := strings.Fields(list[2])[5]
	n.ok("backup", "verify", last)
	n.fails(5, "no such backup", "restore", target, "--until", "2020-01-01T00:00:00Z", "--data-dir", "unused")
	n.fails(2, "name a bucket and a prefix", "backup", last)
	n.fails(1, "bucket does not exist", "backup", "s3://nowhere/x")
	n.stop(syscall.SIGTERM)

	for from, messages := range map[string]int{target: 4, strings.Fields(list[1])[5]: 3} {
		dir := filepath.Join(t.TempDir(), "data")
		n.ok("restore", from, "--data-dir", dir, "--node-id", "n1")
		restored := startNode(t, dir)
		if got := restored.ok("read", "chat:1", "--raw"); strings.Count(got, "\n") != messages {
			t.Errorf("%s has brought %q", from, got)
		}
		restored.stop(syscall.SIGTERM)
	}
}

// A backup that is killed leaves no object, and no other one begins while its lock may be that of a living process. The
// next one after that removes what it left of its upload.
func TestKilledBackupInABucket(t *testing.T) {
	store := startStore(t)
	n := startNode(t, t.TempDir())
	n.fill("large", 40)
	n.startBackup(uploaded(store), store.URL).stop(os.Kill)
	n.fails(1, "another backup is being written to s3://bucket/, by process", "backup", store.URL)
	expireLock(t, store)
	if list := n.ok("backup", "list", store.URL); strings.Contains(list, ".tlb") {
		t.Errorf("a backup that was killed is there:\n%s", list)
	}
	n.ok("backup", store.URL)
	n.ok("backup", "verify", store.URL)
	if left, _ := filepath.Glob(filepath.Join(store.Dir, ".sgwtmp", "multipart", "*", "*", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A store that dies during a backup, or does not take it, makes the command fail.
func TestBackupIntoAStoreThatDies(t *testing.T) {
	store := startStore(t)
	n := startNode(t, t.TempDir())
	n.fill("large", 40)
	p := n.startBackup(uploaded(store), store.URL)
	store.Kill()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the backup goes on")
	}
	if p.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(p.text(), "No backup was added") {
		t.Errorf("the backup ended with %d: %s", p.cmd.ProcessState.ExitCode(), p.text())
	}
	store.Run()
	if list := n.ok("backup", "list", store.URL); strings.Contains(list, ".tlb") {
		t.Errorf("a backup that failed is there:\n%s", list)
	}
}

// Incremental backups that are killed, in a folder and in a bucket: the next one goes on from the packs that are there,
// and brings everything; the one after that writes only what is new.
func TestKilledIncrementalBackup(t *testing.T) {
	store := startStore(t)
	folder := t.TempDir() + "/"
	for target, dir := range map[string]string{store.URL: store.Dir, folder: folder} {
		n := startNode(t, t.TempDir())
		n.fill("large", 40)
		n.startBackup(filepath.Join(dir, "packs", "*.tlp"), target, "--incremental").stop(os.Kill)
		if target == store.URL {
			expireLock(t, store)
		}
		if list := n.ok("backup", "list", target); strings.Contains(list, ".tli") {
			t.Errorf("a backup that was killed is there:\n%s", list)
		}
		stored := func() (s backup.Stored) {
			t.Helper()
			var done struct{ Stored *backup.Stored }
			done.Stored = &s
			text := n.ok("--json", "backup", target, "--incremental", "--keep", "2")
			if err := json.Unmarshal([]byte(text), &done); err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := stored(); s.Resumed == 0 || s.New == 0 || s.Bytes > 35<<20 {
			t.Errorf("%s: after a kill: %+v", target, s)
		}
		n.fill("more", 1)
		if s := stored(); s.New == 0 || s.Resumed != 0 || s.Bytes > 5<<20 {
			t.Errorf("%s: after one more message: %+v", target, s)
		}
		n.ok("backup", "verify", target)
		sum := n.field("length", "info", "large")
		n.stop(syscall.SIGTERM)
		data := filepath.Join(t.TempDir(), "data")
		n.ok("restore", target, "--data-dir", data, "--node-id", "n1")
		restored := startNode(t, data)
		if got := restored.field("length", "info", "large"); got != sum {
			t.Errorf("%s: %s messages are restored, of %s", target, got, sum)
		}
		restored.stop(syscall.SIGTERM)
	}
}
