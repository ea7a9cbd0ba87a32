package admin

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the nodes, their roles and their progress",
		Long: `Status shows the cluster as one node sees it: of the nodes in --addr, one that sees
a serving leader, if there is any. The last lines say what is wrong. It ends with 1
if the cluster serves no requests.

ZONE is what --zone says of a node, and its --leader-preference if that is not 0.
BEHIND is how far the state of a node is behind the leader's: in log entries, and by
cluster time, which goes on with writes. ON DISK is where the node's log ends.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cl, err := bestView(a)
			if err != nil {
				return err
			}
			h := cl.Health()
			if a.JSON {
				err = a.WriteJSON(statusJSON{cl, cl.LevelWaitsFor(), cl.ZoneRisks(), h})
			} else {
				err = writeCluster(a, cl, h)
			}
			if err == nil && h.Status == turn.NotServing {
				err = cli.ErrTold
			}
			return err
		},
	}
}

type statusJSON struct {
	turn.Cluster
	LevelWaitsFor []string    `json:"level_waits_for,omitempty"`
	ZoneRisks     []string    `json:"zone_risks,omitempty"`
	Health        turn.Health `json:"health"`
}

func writeCluster(a *cli.App, c turn.Cluster, h turn.Health) error {
	leader := c.Leader
	if leader == "" {
		leader = "none"
	}
	fmt.Fprintf(a.Stdout, "cluster %s, leader %s, term %d, level %d\n", c.ID, leader, c.Term, c.Level)
	for _, reason := range c.LevelWaitsFor() {
		fmt.Fprintf(a.Stdout, "the level does not rise: %s\n", reason)
	}
	for _, risk := range c.ZoneRisks() {
		fmt.Fprintf(a.Stdout, "warning: %s\n", risk)
	}
	fmt.Fprintln(a.Stdout)
	rows := [][]string{{"NODE", "ROLE", "ZONE", "VERSION", "LEVEL", "APPLIED", "BEHIND", "ON DISK", "DISK FREE", "RESP",
		"HTTP", "NODE TO NODE", "STATE HASH"}}
	for i := range c.Nodes {
		rows = append(rows, nodeRow(&c, &c.Nodes[i]))
	}
	if err := a.Table(rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "\n%s\n", healthLines(c, h, "\n  "))
	return err
}

func nodeRow(c *turn.Cluster, n *turn.Node) []string {
	row := []string{n.ID, "unreachable", "-", "-", "-", "-", "-", "-", "-", cli.OrDash(n.RESPAddr),
		cli.OrDash(n.HTTPAddr), n.RaftAddr, "-"}
	if !n.Reachable {
		return row
	}
	copy(row[1:], []string{n.Role, zoneOf(n), cli.OrDash(n.Version), levelOf(n), fmt.Sprint(n.Applied), behind(c, n),
		fmt.Sprint(n.Match), freeBytes(n.DiskFree)})
	if n.StateHash != "" {
		row[len(row)-1] = fmt.Sprintf("%.12s at %d", n.StateHash, n.HashIndex)
	}
	return row
}

// zoneOf returns where a node is, and how much it is preferred as the leader.
func zoneOf(n *turn.Node) string {
	if n.LeaderPreference != 0 {
		return fmt.Sprintf("%s, prefers %d", cli.OrDash(n.Zone), n.LeaderPreference)
	}
	return cli.OrDash(n.Zone)
}

// levelOf returns what a node knows, or holds.
func levelOf(n *turn.Node) string {
	if n.HoldLevel != nil {
		return fmt.Sprintf("%d, holds %d", n.Level, *n.HoldLevel)
	}
	return fmt.Sprint(n.Level)
}

// behind returns how far a node is behind the leader.
func behind(c *turn.Cluster, n *turn.Node) string {
	for i := range c.Nodes {
		l := &c.Nodes[i]
		if l.ID != c.Leader || l.ID == n.ID || l.Applied <= n.Applied {
			continue
		}
		text := fmt.Sprint(l.Applied - n.Applied)
		if lag := c.Lag(n); lag >= time.Second {
			text += ", " + lag.Round(time.Second).String()
		}
		return text
	}
	return "-"
}

func freeBytes(n uint64) string {
	if n == 0 { // of a version that does not tell it
		return "-"
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// healthLines says how a cluster is: the status, and the reasons.
func healthLines(c turn.Cluster, h turn.Health, separator string) string {
	if h.Status == turn.Healthy {
		learners := ""
		switch n := len(c.Nodes) - voters(&c); n {
		case 0:
		case 1:
			learners = ", 1 of them a learner"
		default:
			learners = fmt.Sprintf(", %d of them learners", n)
		}
		return fmt.Sprintf("healthy: %s%s, leader %s", cli.Plural(len(c.Nodes), "node"), learners, c.Leader)
	}
	text := string(h.Status) + ": "
	if strings.HasPrefix(separator, "\n") {
		text = string(h.Status) + ":" + separator
	}
	return text + strings.Join(h.Reasons, separator)
}
