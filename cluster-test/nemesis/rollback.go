package nemesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Rollbacks take from a follower what it has acknowledged, while the third node
// lags and the leader is down. What only the leader and the follower had must be
// there when the leader is back, whatever the two do meanwhile.
func rollbackFaults() []Fault {
	rolled := func(name, about string, part string) Fault {
		return Fault{Name: name, About: about, Nodes: 3, Alone: true, Pick: to(aFollower, rollback(part))}
	}
	return []Fault{
		rolled("rot-tail", "a follower's last write rots while it and the leader are down, and the third node lags",
			""),
		rolled("old-log", "an older copy of a follower's log is put back; the leader is down, the third node lags",
			"wal"),
		rolled("old-copy", "an older copy of all that a follower has is put back; the leader is down, the third "+
			"node lags", "."),
	}
}

const (
	// rollbackLag is for how long the third node is cut off, and how much older a
	// copy is.
	rollbackLag = 2 * time.Second
	// rollbackAlone is for how long the two are left to themselves.
	rollbackAlone = 4 * time.Second
)

// rollback puts back an older copy of a part of a follower's directory; without a
// part, the last of its log rots.
func rollback(part string) func(context.Context, *Env, *cluster.Node) (healer, error) {
	return func(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
		leader := e.Cluster.Leader(ctx)
		if _, err := os.Stat(filepath.Join(n.Dir, "wal")); leader == nil || leader == n || part != "." && err != nil {
			return nil, nil // with the other engine, the log is one file that is checked by pages
		}
		copied, err := e.copied(ctx, n, part)
		if err != nil || copied == nil {
			return starts(n), err
		}
		third := e.others(n)
		third = slices.DeleteFunc(third, func(id string) bool { return id == leader.ID })
		e.Cluster.Network.Split(third, []string{n.ID, leader.ID}, faultproxy.Flow{Cut: true})
		sleep(ctx, rollbackLag)
		healed := func(context.Context) error {
			e.Cluster.Network.Heal()
			return errors.Join(start(n), start(leader))
		}
		if err := errors.Join(n.Kill(), leader.Kill()); err != nil {
			return healed, err
		}
		if err := copied(); err != nil {
			return healed, err
		}
		e.Cluster.Network.Heal()
		n.Expect(true) // it may refuse
		if err := start(n); err != nil {
			return healed, err
		}
		sleep(ctx, rollbackAlone)
		if err := start(leader); err != nil {
			return healed, err
		}
		return nil, e.recovered(context.WithoutCancel(ctx), n)
	}
}

// copied returns what puts the part back as it is now. The node is down for a moment.
func (e *Env) copied(ctx context.Context, n *cluster.Node, part string) (restore func() error, err error) {
	if part == "" {
		return func() error { return rotTail(n) }, nil
	}
	aside, err := os.MkdirTemp(filepath.Dir(n.Dir), "copy-")
	if err != nil {
		return nil, err
	}
	if err := n.Kill(); err != nil {
		return nil, err
	}
	dir := filepath.Join(n.Dir, part)
	if err := os.CopyFS(aside, os.DirFS(dir)); err != nil {
		return nil, errors.Join(err, start(n))
	}
	if err := start(n); err != nil {
		return nil, err
	}
	if err := testcluster.Until(ctx, n.ID+" is ready", func() bool { return n.Ready(ctx) }); err != nil {
		return nil, err
	}
	sleep(ctx, rollbackLag)
	return func() error {
		defer os.RemoveAll(aside)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		// Durably: a later power cut may only take what the node itself did not sync.
		return errors.Join(os.CopyFS(dir, os.DirFS(aside)), n.Settle())
	}, nil
}

// rotTail flips a bit of the last thing in a node's log.
func rotTail(n *cluster.Node) error {
	names := files(n, "wal/*.seg")
	slices.Reverse(names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		used := len(bytes.TrimRight(b, "\x00"))
		if used <= 4096 {
			continue // prepared and unused
		}
		b[used-1] ^= 1 << (used % 8)
		return os.WriteFile(name, b, 0o600)
	}
	return fmt.Errorf("%s has no log", n.ID)
}
