package identity

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/smallfile/copytest"
)

func TestDamagedIdentityIsMended(t *testing.T) {
	dir := t.TempDir()
	i, err := Open(dir, "n1", "as told", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := i.LearnCluster("c"); err != nil {
		t.Fatal(err)
	}
	copytest.Check(t, i.path, func() (any, error) {
		i, err := Open(dir, "n1", "as told", slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		return i.v, nil
	})
}

func open(t *testing.T, dir, nodeID string) (*Identity, error) {
	t.Helper()
	return Open(dir, nodeID, "as told", slog.New(slog.DiscardHandler))
}

// A directory keeps its node, its incarnation and its cluster; another directory has another incarnation.
func TestIdentityIsForLife(t *testing.T) {
	dir := t.TempDir()
	if known, err := Exists(dir); known || err != nil {
		t.Fatalf("an empty directory belongs to a node: %v, %v", known, err)
	}
	i, err := open(t, dir, "n1")
	if err != nil {
		t.Fatal(err)
	}
	if known, err := Exists(dir); !known || err != nil {
		t.Errorf("a node's directory belongs to none: %v, %v", known, err)
	}
	if other, err := open(t, t.TempDir(), "n1"); err != nil || other.Get().Incarnation == i.Get().Incarnation {
		t.Errorf("two directories have incarnation %s, %v", i.Get().Incarnation, err)
	}
	if err := i.LearnCluster("c"); err != nil || i.Get().ClusterID != "c" {
		t.Errorf("the cluster is %q, %v", i.Get().ClusterID, err)
	}
	if err := i.LearnCluster("d"); err == nil || i.LearnCluster("c") != nil {
		t.Errorf("another cluster: %v", err)
	}
	again, err := open(t, dir, "n1")
	if err != nil || again.Get() != i.Get() {
		t.Errorf("opened again: %+v, %v; was %+v", again, err, i.Get())
	}
	if _, err := open(t, dir, "n2"); err == nil || !strings.Contains(err.Error(), "belongs to node n1") {
		t.Errorf("another node takes it over: %v", err)
	}
}

// The first versions wrote no checksum: such a file is read if it is exactly as they wrote it.
func TestIdentityWithoutAChecksum(t *testing.T) {
	const whole = `{"version":1,"cluster_id":"c","node_id":"n1","incarnation":"i"}`
	for text, want := range map[string]string{
		whole: "",
		strings.Replace(whole, "cluster_id", "cluster_if", 1):   "fails its checksum",
		strings.Replace(whole, "cluster_id", "Cluster_id", 1):   "fails its checksum",
		strings.Replace(whole, `"i"}`, `"i","crc32c":1}`, 1):    "fails its checksum",
		strings.Replace(whole, `"version":1`, `"version":2`, 1): "run the newer turnlog",
		strings.TrimSuffix(whole, "}"):                          "identity: ",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		for _, p := range []string{path, smallfile.SecondCopy(path)} {
			if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		i, err := open(t, dir, "n1")
		if want == "" && (err != nil || i.Get().ClusterID != "c" || i.Get().Incarnation != "i") {
			t.Errorf("%s: %+v, %v", text, i, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
