package backups

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/newcluster"
)

// What a backup says of itself does not steer the terminal on which it is shown.
func TestDescriptionsAreShownAsText(t *testing.T) {
	const hostile = "\x1b]0;owned\a\x1b[2J"
	d := backup.Description{ClusterID: hostile, NodeID: hostile, Created: time.Unix(1_700_000_000, 0)}
	if line := summary(&d, &backup.Summary{ClusterID: hostile}, 1); strings.ContainsAny(line, "\x1b\a") {
		t.Errorf("a summary is %q", line)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "turnlog-x.tlb"), headOf(t, d), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	list := listCommand(&cli.App{Stdout: &out})
	list.SetArgs([]string{dir})
	if err := list.Execute(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "owned") || strings.ContainsAny(out.String(), "\x1b\a") {
		t.Errorf("the list is %q", out.String())
	}
}

// headOf returns the beginning of a backup, all that a list reads.
func headOf(t *testing.T, d backup.Description) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := backup.Write(&b, d, strings.NewReader("no dump")); err == nil {
		t.Fatal("something that is no dump was backed up")
	}
	return b.Bytes()
}

// A recovery from a log that is known to have lost something says so.
func TestRecoveryTellsWhatIsLost(t *testing.T) {
	s := newcluster.Survivor{NodeID: "n1", Lost: "entries 7 to 9"}
	if text := warning(&s); !strings.Contains(text, "node n1 itself has lost entries 7 to 9") {
		t.Errorf("it says %q", text)
	}
	s.Lost = ""
	if text := warning(&s); strings.Contains(text, "itself") {
		t.Errorf("it says %q of a log that has all", text)
	}
}
