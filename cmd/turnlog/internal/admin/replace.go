package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterReplaceCommand(a *cli.App) *cobra.Command {
	var learner bool
	cmd := &cobra.Command{
		Use:   "replace OLD-ID NEW-ID RAFT-ADDR",
		Short: "Put a new node into the place of a member, with progress",
		Long: `Replace makes a running node a member, as join does, and then removes another one, as
remove does: at no time are there fewer voters than before. If NEW-ID is a member at
RAFT-ADDR already, only the removal is left to do. Neither step is taken
unless it leaves a majority that can be reached. If the old node leads, it hands over
first. It need not run: a node that is lost for good is replaced in the same way.

A learner is replaced by a learner. If OLD-ID is removed already, it is not known any more
which it was: --learner says that it was one.

It may be interrupted and run again: a step that was taken is not taken twice.`,
		Example: `  turnlog serve --join --node-id n4 --data-dir n4 --raft-addr 127.0.0.1:7411 \
    --resp-addr 127.0.0.1:7409 --http-addr 127.0.0.1:7410
  turnlog cluster replace n2 n4 127.0.0.1:7411`,
		Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == args[1] {
				return cli.Usagef("a node cannot replace itself: give the new node another id")
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				return replacement{a, c, args[0], args[1], args[2], learner}.run(ctx)
			})
		},
	}
	cmd.Flags().BoolVar(&learner, "learner", false, "OLD-ID was a learner, if it is a member no more")
	return cmd
}

// replacement puts a new node into the place of an old one.
type replacement struct {
	app            *cli.App
	c              *client.Client
	old, new, addr string
	learner        bool // the old node was one, if it is gone
}

func (r replacement) run(ctx context.Context) error {
	cl, err := r.c.Cluster(ctx)
	if err != nil {
		return err
	}
	o, isMember := member(&cl, r.old)
	n, joined := member(&cl, r.new)
	switch {
	case isMember && o.Voter && r.learner:
		return cli.Advise(turn.Errorf(turn.Invalid, "node %s is a voter", r.old),
			"Nothing was changed. Leave out --learner.")
	case isMember:
		r.learner = !o.Voter
	case joined && !n.Voter && !r.learner:
		return cli.Unchanged(turn.Errorf(turn.NotFound,
			"node %s is not a member, so that it is not known whether it had a vote; %s is "+
				"a learner: give --learner if %s was one, or promote %s", r.old, r.new, r.old, r.new))
	case !joined:
		return turn.Errorf(turn.NotFound, "node %s is not a member", r.old)
	}
	if joined && n.RaftAddr != r.addr {
		return cli.Advise(turn.Errorf(turn.Exists, "node %s is already a member, at %s", r.new, n.RaftAddr),
			"Nothing was changed. Give the new node another id, or its address.")
	}
	if !joined || !n.Voter {
		if err := r.join(ctx); err != nil {
			return err
		}
	}
	r.say("%s is a member; removing %s", r.new, r.old)
	if err := r.remove(ctx); err != nil {
		return cli.Advise(err, fmt.Sprintf("%s is a member, and so is %s, or may be. Run the same command again: it "+
			"goes on from here.", r.new, r.old))
	}
	return done(r.app, "%s has taken the place of %s", r.new, r.old)
}

func (r replacement) join(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(ctx)
	}()
	defer func() {
		cancel()
		<-watched
	}()
	return atLeader(ctx, r.c, func(leader turn.Node) error {
		err := addMember(r.app, ctx, leader, r.new, r.addr, r.learner)
		if turn.KindOf(err) == turn.Exists {
			return nil
		}
		return err
	})
}

// remove removes the old node. If that leads, it hands over, and the next leader removes it.
func (r replacement) remove(ctx context.Context) error {
	return atLeader(ctx, r.c, func(leader turn.Node) error {
		err := removeMember(r.app, ctx, leader, r.old)
		if turn.KindOf(err) == turn.NotFound {
			return nil // this command was run before
		}
		return err
	})
}

// watch says every second how far the new node has caught up.
func (r replacement) watch(ctx context.Context) {
	if r.app.JSON {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		cl, err := r.c.Cluster(ctx)
		if err != nil {
			continue
		}
		n, joined := member(&cl, r.new)
		leader, err := leaderOf(cl)
		if !joined || err != nil {
			continue
		}
		r.say("%s has applied log entry %d of %d", r.new, n.Applied, leader.Applied)
	}
}

func (r replacement) say(format string, args ...any) {
	if !r.app.JSON {
		fmt.Fprintf(r.app.Stderr, format+"\n", args...)
	}
}

func member(cl *turn.Cluster, id string) (turn.Node, bool) {
	for _, n := range cl.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return turn.Node{}, false
}
