package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/vote"
)

func TestDamageIsRefusedWithAdvice(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		vote.FileName + " and its copy lost": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(filepath.Join(filepath.Dir(path), vote.CopyName)))
		},
		vote.FileName + " shredded": func(path string) error {
			return errors.Join(os.WriteFile(path, make([]byte, 4<<10), 0o600),
				os.Remove(filepath.Join(filepath.Dir(path), vote.CopyName)))
		},
		raftlog.WALName + " lost": os.RemoveAll,
		"state.db shredded":       func(path string) error { return os.WriteFile(path, make([]byte, 32<<10), 0o600) },
		identity.FileName + " changed": func(path string) error {
			return errors.Join(replaceText(path, `"node_id": "n1"`, `"node_id": "n3"`),
				os.Remove(smallfile.SecondCopy(path)))
		},
		identity.FileName + " cut": func(path string) error {
			return errors.Join(os.Truncate(path, 20), os.Truncate(smallfile.SecondCopy(path), 20))
		},
	} {
		dir := t.TempDir()
		open := func() error {
			n, err := Open(Config{NodeID: "n1", DataDir: dir, Peers: Peers{Addr: "127.0.0.1:0"},
				Storage: StorageBounds{SegmentBytes: 1 << 20}})
			if err != nil {
				return err
			}
			return errors.Join(n.data.Identity.LearnCluster("c"), n.Close())
		}
		for range 2 {
			if err := open(); err != nil {
				t.Fatalf("%s: before it: %v", name, err)
			}
		}
		file, _, _ := strings.Cut(name, " ")
		if err := damage(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		err := open()
		if err == nil || !strings.Contains(err.Error(), file) ||
			!strings.Contains(err.Error(), "remove the node from the cluster") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func replaceText(path, old, with string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(b), old, with, 1)), 0o600)
}

func TestLostMarkerIsRefused(t *testing.T) {
	n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), Peers: Peers{Addr: "127.0.0.1:0"},
		Storage: StorageBounds{SegmentBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var entries []*raft.Log
	for i := range uint64(10) {
		entries = append(entries, &raft.Log{Index: i + 1, Term: 1, Type: raft.LogNoop})
	}
	if err := errors.Join(n.data.Log.StoreLogs(entries), n.data.Log.DeleteRange(1, 5)); err != nil {
		t.Fatal(err)
	}
	n.data.Vote.SetTerm(1)
	err = n.start(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), snapshot.MarkerName) ||
		!strings.Contains(err.Error(), datadir.Reseed) {
		t.Errorf("a log that begins with entry 6, and no snapshot: %v", err)
	}
}

// What a version wrote that was never released is neither taken for damage nor changed.
func TestUnreleasedDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "raft.db"), []byte("pages"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Config{NodeID: "n1", DataDir: dir, Peers: Peers{Addr: "127.0.0.1:0"}})
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if err == nil || !strings.Contains(err.Error(), "export the sessions") ||
		strings.Contains(err.Error(), datadir.Reseed) ||
		len(names) != 1 {
		t.Errorf("%v; the directory has %q", err, names)
	}
}

func TestForgottenTermIsRefused(t *testing.T) {
	n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), Peers: Peers{Addr: "127.0.0.1:0"},
		Storage: StorageBounds{SegmentBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	n.data.Vote.SetTerm(6)
	err = n.data.Log.StoreLogs([]*raft.Log{{Index: 1, Term: 7, Type: raft.LogNoop}})
	if err != nil {
		t.Fatal(err)
	}
	err = n.start(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), vote.FileName) || !strings.Contains(err.Error(), datadir.Reseed) {
		t.Errorf("an entry of term 7 on a node in term 6: %v", err)
	}
}

// The same if the log's end was lost as well: the mark remembers.
func TestForgottenTermOfALostEndIsRefused(t *testing.T) {
	n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), Peers: Peers{Addr: "127.0.0.1:0"},
		Storage: StorageBounds{SegmentBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	n.data.Mark.Reached(raftlog.Position{Index: 4, Term: 7})
	n.data.Vote.SetTerm(6)
	err = n.start(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), vote.FileName) || !strings.Contains(err.Error(), datadir.Reseed) {
		t.Errorf("a mark of term 7 on a node in term 6: %v", err)
	}
}

// A flipped bit in the version of identity.json is damage. A file of a newer version,
// with what this one does not know, is told from that by its checksum.
func TestIdentityVersions(t *testing.T) {
	newer := func(text string) string {
		text = strings.Replace(text, `"version": 1`, `"version": 2, "more": {}`, 1)
		sum, _ := smallfile.JSONSum([]byte(text), "}")
		return regexp.MustCompile(`"crc32c": \d+`).ReplaceAllString(text, fmt.Sprintf(`"crc32c": %d`, sum))
	}
	for name, c := range map[string]struct {
		change func(string) string
		says   string // empty: nothing
	}{
		"as written": {func(s string) string { return s }, ""},
		"without checksum": {func(s string) string {
			return regexp.MustCompile(`,\s+"crc32c": \d+`).ReplaceAllString(s,
				"")
		}, ""},
		"checksum's name": {func(s string) string { return strings.Replace(s, "crc32c", "crC32c", 1) }, datadir.Reseed},
		"checksum lost":   {func(s string) string { return strings.Replace(s, "crc32c", "crc32d", 1) }, datadir.Reseed},
		"version flipped": {func(s string) string { return strings.Replace(s, `"version": 1`, `"version": 9`, 1) },
			datadir.Reseed},
		"newer": {newer, "run the newer turnlog"},
	} {
		dir := t.TempDir()
		if _, err := identity.Open(dir, "n1", datadir.Reseed, testLogger()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, identity.FileName)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := smallfile.WriteCopies(path, []byte(c.change(string(b)))); err != nil {
			t.Fatal(err)
		}
		_, err = identity.Open(dir, "n1", datadir.Reseed, testLogger())
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
