package raftstore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/clustertime"
)

// What a node learned of another's clock when that was wrong must not count when its
// own is: it takes cluster time from what the others say now.
func TestStaleOffsetsDoNotCount(t *testing.T) {
	const fast = 2 * time.Hour
	c := newCluster(t, 3, func(cfg *Config) {
		if cfg.NodeID == "n1" {
			cfg.Clock = skewedClock(fast)
		}
	})
	defer c.killAll()
	n1 := c.nodes["n1"]
	for c.leader() == n1 {
		_ = n1.TransferLeadership(t.Context())
	}
	c.keepConnections(n1, "n3") // so that none has to be made, with another handshake
	for c.leader() != n1 {
		n1.offsets.Note("n3", -fast+10*time.Second, n1.cfg.Clock.Now())
		_ = c.leader().raft.Load().LeadershipTransferToServer("n1", raft.ServerAddress(c.addrs["n1"])).Error()
	}
	put(t, c.leader(), "s", "x")
	if ahead := time.Duration(n1.state.Clock()-time.Now().UnixMilli()) * time.Millisecond; ahead > clustertime.Tolerated {
		t.Errorf("cluster time is ahead by %v", ahead)
	}
}

// Unix nanoseconds are wall time: an interval between two of them jumps with the
// clock. A time.Time, or a duration since one, does not.
func TestIntervalsAreNotMeasuredWithWallTime(t *testing.T) {
	const entries = "wal.go" // of raftlog: when an entry was made is told to people
	for _, dir := range []string{".", "../internal/raftlog", "../internal/clustertime", "../internal/snapshot", "../internal/vote", "../internal/smallfile", "../internal/broadcast", "../internal/peer", "../wal", "../fsm", "../fsm/blockfile", "../internal/server/redis", "../internal/server/redis/command", "../internal/server/httpapi", "../internal/auth", "../client"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no Go files: %v", dir, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") || f == filepath.Join("../internal/raftlog", entries) {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte("UnixNano()")) {
				t.Errorf("%s has a time in Unix nanoseconds", f)
			}
		}
	}
}
