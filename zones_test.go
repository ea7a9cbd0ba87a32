package turnlog_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/turnlog/turnlog"
)

// Nodes in programs tell each other their zones and preferences; the preferred one leads, and when it has been
// closed, another one does.
func TestZonesInPrograms(t *testing.T) {
	t.Parallel() // for 10 s, the preferred node proves itself
	ctx := within(t)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	at := addrs(t, 3)
	initial := make(map[string]string)
	for i, addr := range at {
		initial[fmt.Sprint("n", i+1)] = addr
	}
	var dbs []*turnlog.DB
	for i, dir := range dirs {
		dbs = append(dbs, openCluster(t, turnlog.Config{Dir: dir, NodeID: fmt.Sprint("n", i+1), Peers: turnlog.Peers{
			Addr: at[i], InitialCluster: initial, Zone: []string{"eu-1a", "eu-1a", "eu-1b"}[i],
			LeaderPreference: []int{0, 5, 10}[i]}}))
	}
	leads := func(seenBy *turnlog.DB, id string) {
		t.Helper()
		until(t, id+" leads", func() bool {
			c, err := seenBy.Cluster(ctx)
			return err == nil && c.Leader == id
		})
	}
	leads(dbs[1], "n3")
	c, err := dbs[0].Cluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range c.Nodes {
		got = append(got, fmt.Sprint(n.ID, " in ", n.Zone, ", ", n.LeaderPreference))
	}
	if want := []string{"n1 in eu-1a, 0", "n2 in eu-1a, 5", "n3 in eu-1b, 10"}; !slices.Equal(got, want) {
		t.Errorf("the nodes are %q, want %q", got, want)
	}
	const risk = "2 of 3 voters are in zone eu-1a (n1, n2): without it, there is no majority"
	if got := c.ZoneRisks(); !slices.Equal(got, []string{risk}) {
		t.Errorf("the risks are %q", got)
	}
	if err := dbs[2].Close(); err != nil {
		t.Error(err)
	}
	leads(dbs[0], "n2") // the next one in the order
	add(t, dbs[0], "alice", "hi")
}
