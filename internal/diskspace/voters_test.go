package diskspace

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// cluster is n1, which leads, and other voters with disks.
type cluster struct {
	mu      sync.Mutex
	reports map[string]Report // of the other voters; one that is missing does not answer
	busy    bool              // those that do not answer are connected
	told    map[string]string // why writes are rejected, as the others heard it
	others  []string
	handed  bool  // over
	refuses error // to take over
	outside bool  // n1 is no voter
	moved   int   // how often cluster time went on
}

func (c *cluster) Leads() bool                    { return true }
func (c *cluster) Voters() ([]string, bool)       { return c.others, !c.outside }
func (c *cluster) Connected(string) bool          { return c.busy }
func (c *cluster) MoveTime(context.Context) error { c.moved++; return nil }

func (c *cluster) HandOver(context.Context) error {
	c.handed = c.refuses == nil
	return c.refuses
}

func (c *cluster) Ask(_ context.Context, id, rejects string) (Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.reports[id]
	if !ok {
		return r, errors.New("no answer")
	}
	c.told[id] = rejects
	return r, nil
}

var (
	roomy = Report{}
	short = Report{Short: true, Why: "1 MiB is left"}
)

func newCluster(reports map[string]Report, others ...string) (*cluster, *voterSpace) {
	c := &cluster{reports: reports, told: make(map[string]string), others: others}
	return c, &voterSpace{Space: newSpace(), cfg: &Config{
		Node: "n1", Cluster: c, Wait: 1, Logger: slog.New(slog.DiscardHandler),
	}}
}

// Writes are rejected exactly while no quorum has space, and the others hear of it.
func TestQuorumDecides(t *testing.T) {
	for _, test := range []struct {
		name    string
		reports map[string]Report
		own     bool // this node has no space
		rejects bool
		handed  bool
	}{
		{"all have space", map[string]Report{"n2": roomy, "n3": roomy}, false, false, false},
		{"one follower has none", map[string]Report{"n2": short, "n3": roomy}, false, false, false},
		{"two followers have none", map[string]Report{"n2": short, "n3": short}, false, true, false},
		{"the leader has none", map[string]Report{"n2": roomy, "n3": roomy}, true, false, true},
		{"the leader and a follower have none", map[string]Report{"n2": short, "n3": roomy}, true, true, false},
		{"one is down, the other has none", map[string]Report{"n2": short}, false, true, false},
		{"one is down, the other has space", map[string]Report{"n2": roomy}, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, v := newCluster(test.reports, "n2", "n3")
			if test.own {
				v.short.Store(turn.Errorf(turn.ReadOnly, "1 MiB is left"))
			}
			v.decide(t.Context())
			if got := v.Refusal() != nil; got != test.rejects {
				t.Errorf("rejects: %v", got)
			}
			if c.handed != test.handed {
				t.Errorf("handed over: %v", c.handed)
			}
			for id, why := range c.told {
				if (why != "") != test.rejects {
					t.Errorf("%s was told %q", id, why)
				}
			}
		})
	}
}

// A leader without space that cannot hand over rejects what needs space, and tries again later.
func TestLeaderThatCannotHandOver(t *testing.T) {
	c, v := newCluster(map[string]Report{"n2": roomy, "n3": roomy}, "n2", "n3")
	c.refuses = errors.New("no other voter can be reached")
	v.short.Store(turn.Errorf(turn.ReadOnly, "1 MiB is left"))
	v.decide(t.Context())
	if v.Refusal() == nil {
		t.Error("writes are admitted")
	}
	c.refuses = nil
	v.decide(t.Context())
	if c.handed {
		t.Error("handed over at once after a failure")
	}
}

// The last report of a voter that is busy counts; that of one which is gone does not.
func TestBusyVoters(t *testing.T) {
	c, v := newCluster(map[string]Report{"n2": short, "n3": short}, "n2", "n3")
	v.decide(t.Context())
	reports := maps.Clone(c.reports)
	delete(c.reports, "n3")
	c.reports["n2"], c.busy = roomy, true
	v.decide(t.Context())
	if v.Refusal() != nil {
		t.Error("writes are rejected although two of three have space")
	}
	c.reports = reports
	v.decide(t.Context())
	c.reports = map[string]Report{}
	v.decide(t.Context())
	if v.Refusal() == nil {
		t.Error("the reports of busy voters do not count")
	}
	c.busy = false
	v.decide(t.Context())
	if v.Refusal() != nil {
		t.Error("the reports of voters that are gone count")
	}
}
