package raftstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// A directory that a recovery marks while its node waits for the lock is not started from: what was recovered
// goes on elsewhere.
func TestDirectoryMarkedBeforeItIsLocked(t *testing.T) {
	for _, name := range []string{datadir.LeftName, datadir.UnfinishedName} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			n := c.leader()
			put(t, n, "s", "x")
			c.stop(n.id)
			marked := func(cfg *Config) {
				cfg.Log.wrap = func(e raftlog.Engine) raftlog.Engine { // behind the first look, under the lock
					if err := os.WriteFile(filepath.Join(cfg.DataDir, name), []byte("recovered"), 0o600); err != nil {
						t.Error(err)
					}
					return e
				}
			}
			again, err := Open(c.config(n.id, marked))
			if err == nil {
				_ = again.Close()
			}
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("it starts: %v", err)
			}
		})
	}
}
