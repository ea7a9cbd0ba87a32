package admin

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterUpgradeCommand(a *cli.App) *cobra.Command {
	u := upgrade{app: a}
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Guide a rolling upgrade: one node after another, with checks in between",
		Long: `Upgrade moves every node to another version, the leader last, so that the cluster
serves requests all the time. Before each node it waits until the cluster is
healthy, and it has the leader hand leadership over first. Then the node is to be
stopped, gets its new binary, and is started again: by the command given with --exec,
or, without that, by you: upgrade says which node is next, and waits until that node
is back.

--exec runs in a shell, once for each node, with these variables: TURNLOG_NODE is the
node's id; TURNLOG_NODE_RAFT, TURNLOG_NODE_RESP and TURNLOG_NODE_HTTP are its
addresses; TURNLOG_TO is the version that it is to run.

A node that runs the version already is left alone, so upgrade may be interrupted, and
run again. If something fails it stops there, with the other nodes as they were. To roll
back, run the same command with the older version in --to, as long as the cluster's
level has not risen, which it does by itself when the last node is upgraded: to try a
version first, start its nodes with --hold-level.`,
		Example: `  turnlog cluster upgrade --addr db1:7379,db2:7379,db3:7379 \
    --exec 'ssh ${TURNLOG_NODE_RAFT%:*} "dpkg -i --force-confold turnlog_*.deb && systemctl restart turnlog"'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON && u.exec == "" {
				return cli.Usagef("--json needs --exec: without it, upgrade tells a person which node is next")
			}
			if u.wait <= 0 {
				return cli.Usagef("--wait must be positive")
			}
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			return u.run(ctx)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&u.to, "to", a.Version, "`version` that the nodes are to run; default: that of this program")
	flags.StringVar(&u.exec, "exec", "", "shell `command` that upgrades the node TURNLOG_NODE")
	flags.DurationVar(&u.wait, "wait", 10*time.Minute, "how long to wait for a node that is upgraded, or for health")
	return cmd
}

// upgrade is an upgrade that is running.
type upgrade struct {
	app      *cli.App
	to, exec string
	wait     time.Duration

	addrs    []string // of all nodes that were seen: the one that was named may be down
	finished int
}

func (u *upgrade) run(ctx context.Context) error {
	for {
		cl, err := u.until(ctx, "the cluster is healthy", healthy)
		if err != nil {
			return u.stopped(err)
		}
		node, left := u.next(&cl)
		if left == 0 {
			return u.end(&cl)
		}
		if left == 1 {
			u.warnOfLevel(&cl)
		}
		if err := u.step(ctx, &cl, node); err != nil {
			return u.stopped(err)
		}
		u.finished++
	}
}

// next returns the node whose turn it is, and how many run another version: learners first, as they do
// not count for a majority, and the leader last, so that leadership moves once.
func (u *upgrade) next(cl *turn.Cluster) (node *turn.Node, left int) {
	var others []*turn.Node
	for i := range cl.Nodes {
		if n := &cl.Nodes[i]; n.Version != u.to {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return nil, 0
	}
	rank := func(n *turn.Node) int {
		switch {
		case !n.Voter:
			return 0
		case n.ID == cl.Leader:
			return 2
		}
		return 1
	}
	return slices.MinFunc(others, func(x, y *turn.Node) int { return cmp.Compare(rank(x), rank(y)) }), len(others)
}

// step upgrades one node.
func (u *upgrade) step(ctx context.Context, cl *turn.Cluster, node *turn.Node) error {
	if node.ID == cl.Leader && voters(cl) > 1 {
		if err := admin(u.app, ctx, node.HTTPAddr, "POST", "/v1/cluster/transfer", nil, nil); err != nil {
			return err
		}
		now, err := u.until(ctx, "another node leads", func(cl *turn.Cluster) string {
			if cl.Leader == node.ID {
				return node.ID + " still leads"
			}
			return healthy(cl)
		})
		if err != nil {
			return err
		}
		u.say("%s has handed leadership over to %s", node.ID, now.Leader)
	}
	u.say("%s: %s -> %s", node.ID, cmp.Or(node.Version, "unknown version"), u.to)
	if u.exec == "" {
		u.say("stop %s, replace its binary, and start it again; waiting for up to %s", node.ID, u.wait)
	} else if err := u.execute(ctx, node); err != nil {
		return err
	}
	_, err := u.until(ctx, node.ID+" is back, with version "+u.to, func(cl *turn.Cluster) string {
		for i := range cl.Nodes {
			if n := &cl.Nodes[i]; n.ID == node.ID {
				return u.missing(cl, n)
			}
		}
		return node.ID + " is not a member"
	})
	return err
}

// missing says what keeps a node from being upgraded; "" if it is.
func (u *upgrade) missing(cl *turn.Cluster, n *turn.Node) string {
	switch {
	case !n.Reachable:
		return n.ID + " cannot be reached"
	case n.Version != u.to:
		return fmt.Sprintf("%s runs version %s", n.ID, cmp.Or(n.Version, "unknown"))
	}
	return healthy(cl)
}

// execute runs the operator's command for a node.
func (u *upgrade) execute(ctx context.Context, n *turn.Node) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", u.exec)
	cmd.Env = append(os.Environ(), "TURNLOG_NODE="+n.ID, "TURNLOG_NODE_RAFT="+n.RaftAddr,
		"TURNLOG_NODE_RESP="+n.RESPAddr, "TURNLOG_NODE_HTTP="+n.HTTPAddr, "TURNLOG_TO="+u.to)
	cmd.Stdout, cmd.Stderr = u.app.Stderr, u.app.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the command for %s failed: %w", n.ID, err)
	}
	return nil
}

// healthy says why a cluster is not healthy; "" if it is.
func healthy(cl *turn.Cluster) string {
	if h := cl.Health(); h.Status != turn.Healthy {
		return strings.Join(h.Reasons, "; ")
	}
	return ""
}

// until looks at the cluster again and again, until missing returns "".
func (u *upgrade) until(ctx context.Context, what string, missing func(*turn.Cluster) string) (turn.Cluster, error) {
	limit, slow := time.After(u.wait), time.After(2*time.Second)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		cl, err := u.look()
		if kind := turn.KindOf(err); kind == turn.Unauthorized || kind == turn.Forbidden || cli.IsUsage(err) {
			return cl, err
		}
		why := ""
		if err != nil {
			why = "no node answers: " + err.Error()
		} else if why = missing(&cl); why == "" {
			return cl, nil
		}
		select {
		case <-slow:
			u.say("waiting until %s: %s", what, why)
		case <-tick.C:
		case <-limit:
			return cl, fmt.Errorf("gave up after waiting %s until %s: %s", u.wait, what, why)
		case <-ctx.Done():
			return cl, fmt.Errorf("interrupted while waiting until %s: %s", what, why)
		}
	}
}

// look asks all nodes that were ever seen.
func (u *upgrade) look() (turn.Cluster, error) {
	all := *u.app
	all.Addr = strings.Join(append([]string{u.app.Addr}, u.addrs...), ",")
	cl, err := bestView(&all)
	for i := range cl.Nodes {
		if addr := cl.Nodes[i].RESPAddr; addr != "" && !slices.Contains(u.addrs, addr) &&
			!slices.Contains(cli.SplitAddrs(u.app.Addr), addr) {
			u.addrs = append(u.addrs, addr)
		}
	}
	return cl, err
}

// warnOfLevel says that there is no way back after the last node, if the new version brings a level.
func (u *upgrade) warnOfLevel(cl *turn.Cluster) {
	brings, held := cl.Level, false
	for i := range cl.Nodes {
		n := &cl.Nodes[i]
		brings, held = max(brings, n.Level), held || n.HoldLevel != nil
	}
	if brings > cl.Level && !held {
		u.say("this is the last node: after it, the cluster's level rises from %d to %d, and the nodes cannot go "+
			"back to the older version", cl.Level, brings)
	}
}

func (u *upgrade) end(cl *turn.Cluster) error {
	if u.app.JSON {
		return u.app.WriteJSON(map[string]any{"version": u.to, "upgraded": u.finished, "nodes": len(cl.Nodes),
			"level": cl.Level})
	}
	if u.finished == 0 {
		_, err := fmt.Fprintf(u.app.Stdout, "nothing to do: all %d nodes run version %s already; --to names another\n",
			len(cl.Nodes), u.to)
		return err
	}
	_, err := fmt.Fprintf(u.app.Stdout, "%s upgraded: all %d run version %s\n", cli.Plural(u.finished, "node"),
		len(cl.Nodes), u.to)
	return err
}

// stopped is why an upgrade stopped, and what that means.
func (u *upgrade) stopped(err error) error {
	return cli.Advise(err, fmt.Sprintf("%s upgraded in this run; the others were left as they were. See `turnlog "+
		"cluster status`, fix the problem, and run the same command again: it goes on with the next node.",
		cli.Plural(u.finished, "node")))
}

// say tells a person how it goes on.
func (u *upgrade) say(format string, args ...any) {
	if !u.app.JSON {
		fmt.Fprintf(u.app.Stderr, format+"\n", args...)
	}
}

func voters(cl *turn.Cluster) (n int) {
	for i := range cl.Nodes {
		if cl.Nodes[i].Voter {
			n++
		}
	}
	return n
}
