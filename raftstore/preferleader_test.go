package raftstore

import (
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/preference"
	"github.com/turnlog/turnlog/internal/requests"
)

// prefers has leadership move to a node soon.
func prefers(id string) func(*Config) {
	return func(cfg *Config) {
		cfg.Preference.Settle = 250 * time.Millisecond
		if cfg.NodeID == id {
			cfg.Zone, cfg.Preference.Node = "near", 5
		}
	}
}

// A preferred voter becomes the leader, and again when it comes back, at the cost of no call.
func TestPreferredVoterLeads(t *testing.T) {
	c := newCluster(t, 3, prefers("n3"))
	leads := func() bool { id, _ := c.nodes["n1"].Leader(); return id == "n3" && c.leader().id == "n3" }
	eventuallyTrue(t, "n3 leads", leads)
	at := []*running{c.nodes["n1"], c.nodes["n2"]}
	w := startWriters(t, "w", len(at), func(i, _ int) *running { return at[i] })
	w.begun()
	c.kill("n3")
	eventuallyTrue(t, "another node leads", func() bool { return c.leader().id != "n3" })
	w.begun()
	c.start("n3")
	eventuallyTrue(t, "n3 leads again", leads)
	w.begun()
	acked, unsure, failed := w.end()
	if unsure+failed > 0 || acked == 0 {
		t.Errorf("%d writes were acknowledged, %d are uncertain, %d failed", acked, unsure, failed)
	}
	w.check(c.nodes["n1"])
	view, err := c.nodes["n2"].Cluster(t.Context())
	if err != nil || view.Nodes[2].Zone != "near" || view.Nodes[2].LeaderPreference != 5 || view.Nodes[0].Zone != "" {
		t.Errorf("the cluster is described as %+v, %v", view.Nodes, err)
	}
	c.sameState()
}

// A voter that does not get the log, or gets it late, is not made the leader though it is preferred; it is when it has
// caught up, and stays it.
func TestPreferredVoterThatLagsDoesNotLead(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 1, dir, 3)
		defer c.abandon()
		c.recover()
		leader := c.leader()
		id := c.others(leader.id)[0]
		c.crash(id)
		cfg := c.config(id)
		cfg.Preference.Node = 5
		c.startWith(cfg)
		far := c.node(id)
		c.net.set(leader.id, far.id, func(l *line) {
			l.kinds = map[messageKind]time.Duration{{rpcEntries, false}: time.Hour}
		})
		term, _ := leader.lead.Serves()
		for range 60 {
			if _, err := leader.Apply(t.Context(), appendOp("s", "x")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if now, _ := leader.lead.Serves(); now != term {
			t.Errorf("%s led in term %d, and its term is %d now", leader.id, term, now)
		}
		c.net.promptly()
		c.within(preference.MaxSettle, far.id+" leads", func() bool { s, _ := far.lead.Serves(); return s != 0 })
		c.recover()
		term, _ = far.lead.Serves()
		time.Sleep(2 * preference.MaxSettle)
		if now, _ := far.lead.Serves(); now != term {
			t.Errorf("%s led in term %d, and its term is %d now", far.id, term, now)
		}
		c.sameState()
		c.close()
	})
}

func TestWhoIsAbleToLead(t *testing.T) {
	healthy := requests.Status{ID: "n2", Role: "follower", Applied: 100, Appends: 20, AppendNanos: int64(time.Second)}
	for name, test := range map[string]struct {
		change func(*requests.Status)
		able   bool
	}{
		"a healthy follower":          {func(*requests.Status) {}, true},
		"an idle one":                 {func(s *requests.Status) { s.Appends, s.AppendNanos = 10, 0 }, true},
		"one that lags":               {func(s *requests.Status) { s.Applied = 89 }, false},
		"one with a slow disk":        {func(s *requests.Status) { s.AppendNanos = int64(10*slowAppend + 1) }, false},
		"one that was started again":  {func(s *requests.Status) { s.Appends = 5 }, false},
		"a learner":                   {func(s *requests.Status) { s.Role = "learner" }, false},
		"a candidate":                 {func(s *requests.Status) { s.Role = "candidate" }, false},
		"one with damage":             {func(s *requests.Status) { s.Damaged = true }, false},
		"one with a full disk":        {func(s *requests.Status) { s.NoSpace = true }, false},
		"one with a full log":         {func(s *requests.Status) { s.NoLog = true }, false},
		"one that lost its log's end": {func(s *requests.Status) { s.Missing = true }, false},
	} {
		p := preferred{had: 90, before: map[string]requests.Status{"n2": {ID: "n2", Appends: 10}}}
		s := healthy
		test.change(&s)
		if got := p.able(s); got != test.able {
			t.Errorf("%s could lead: %v", name, got)
		}
		if p.before = nil; p.able(s) {
			t.Errorf("%s could lead, by what it says for the first time", name)
		}
	}
}
