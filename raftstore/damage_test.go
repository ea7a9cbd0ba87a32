package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func TestDamageIsRefusedWithAdvice(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		stableName + " lost":      os.Remove,
		stableName + " shredded":  func(path string) error { return os.WriteFile(path, make([]byte, 32<<10), 0o600) },
		walName + " lost":         os.RemoveAll,
		"state.db shredded":       func(path string) error { return os.WriteFile(path, make([]byte, 32<<10), 0o600) },
		identityName + " changed": func(path string) error { return replaceText(path, `"node_id": "n1"`, `"node_id": "n3"`) },
		identityName + " cut":     func(path string) error { return os.Truncate(path, 20) },
	} {
		dir := t.TempDir()
		open := func() error {
			n, err := Open(Config{NodeID: "n1", DataDir: dir, RaftAddr: "127.0.0.1:0", Storage: StorageBounds{SegmentBytes: 1 << 20}})
			if err != nil {
				return err
			}
			return errors.Join(n.ident.learnCluster("c"), n.Close())
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
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "remove the node from the cluster") {
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
	n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), RaftAddr: "127.0.0.1:0", Storage: StorageBounds{SegmentBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var entries []*raft.Log
	for i := range uint64(10) {
		entries = append(entries, &raft.Log{Index: i + 1, Term: 1, Type: raft.LogNoop})
	}
	if err := errors.Join(n.logs.StoreLogs(entries), n.logs.DeleteRange(1, 5)); err != nil {
		t.Fatal(err)
	}
	if err := n.stable.SetUint64([]byte(keyTerm), 1); err != nil {
		t.Fatal(err)
	}
	err = n.start(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), markerName) || !strings.Contains(err.Error(), reseed) {
		t.Errorf("a log that begins with entry 6, and no snapshot: %v", err)
	}
}

func TestForgottenTermIsRefused(t *testing.T) {
	n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), RaftAddr: "127.0.0.1:0", Storage: StorageBounds{SegmentBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	err = errors.Join(n.stable.SetUint64([]byte(keyTerm), 6), n.logs.StoreLogs([]*raft.Log{{Index: 1, Term: 7, Type: raft.LogNoop}}))
	if err != nil {
		t.Fatal(err)
	}
	err = n.start(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), stableName) || !strings.Contains(err.Error(), reseed) {
		t.Errorf("an entry of term 7 on a node in term 6: %v", err)
	}
}
