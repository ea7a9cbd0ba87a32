package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// A node whose state is damaged (fsm/damage.go) repairs it without help: it fetches the
// whole state of another member, and puts that in the place of its own. Its log and its
// vote are sound and stay, so that it goes on acknowledging entries and voting: the
// cluster loses no majority. Until it is done it sends its state to no node, hands
// leadership over, and has the leader answer what it cannot.
//
// The state that it accepts includes every entry that its own state includes, and every one
// that its log has dropped; and its log has the last entry of that state, with the same
// term. So its own log leads to that state, and continues it.

const (
	// repairPause is how long a node waits before it looks again for a state to fetch.
	repairPause = 500 * time.Millisecond
	// handOverTime bounds how long a damaged leader tries to hand over in an orderly way.
	handOverTime = 3 * time.Second
	// catchUpTime bounds how long a node waits for its log to come to where a state ends
	// that it is to take.
	catchUpTime = 20 * time.Second
)

// adopt takes over what snapshot there is.
func (n *Node) adopt() error { return n.damagedState(n.snaps.Adopt()) }

// damagedState halts the state machine if err tells of damage to the state, or to a
// snapshot, that can be repaired. It returns what is not repaired.
func (n *Node) damagedState(err error) error {
	if err == nil || !fsm.IsDamage(err) || n.alone() {
		return beyondRepair(err)
	}
	n.state.Halt(err)
	return nil
}

// repair repairs the state whenever it is damaged, until ctx ends.
func (n *Node) repair(ctx context.Context) {
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.signals.damaged:
		}
		for {
			damage, _ := n.state.Damage()
			if damage == nil {
				break
			}
			err := n.repairOnce(ctx, damage)
			if err == nil {
				said = ""
				break
			}
			if text := err.Error(); text != said && ctx.Err() == nil {
				n.log.Error("the state is damaged, and not repaired yet; trying again", "error", err)
				said = text
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(repairPause):
			}
		}
	}
}

// repairOnce tries to fetch a state from any other member.
func (n *Node) repairOnce(ctx context.Context, damage error) error {
	if n.alone() {
		return n.endure(damage)
	}
	if err := noteDamage(n.cfg.DataDir, damage); err != nil {
		n.log.Warn("cannot note on disk that the state is damaged", "error", err)
	}
	n.handOver(ctx)
	var errs []error
	for _, s := range n.sources(ctx) {
		began := time.Now()
		index, err := n.fetchState(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", s.ID, err))
			continue
		}
		if err := forgetDamage(n.cfg.DataDir); err != nil {
			n.log.Warn("cannot forget on disk that the state was damaged", "error", err)
		}
		n.stats.repairs.Add(1)
		n.log.Info("the state is repaired", "from", s.ID, "index", index, "duration", time.Since(began))
		n.writes.forwarder.Wake()
		n.lead.announce()
		return nil
	}
	if len(errs) == 0 {
		return fmt.Errorf("no other member can be reached; it stays as it is until one can: %w", damage)
	}
	return errors.Join(errs...)
}

// endure is all that the only member can do: what is whole it serves, unless it cannot go
// on at all.
func (n *Node) endure(damage error) error {
	if _, halted := n.state.Damage(); halted {
		n.fail(fmt.Errorf("raftstore: the state of the only member: %w", damage))
	}
	return fmt.Errorf("this is the only member, and no other has a copy: what is damaged cannot be read, the rest "+
		"can; export what is needed: %w", damage)
}

// handOver has another node lead, if this one does.
func (n *Node) handOver(ctx context.Context) {
	if !n.leading() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, handOverTime)
	defer cancel()
	err := n.TransferLeadership(ctx)
	if err != nil {
		err = n.forceTransfer(context.WithoutCancel(ctx))
	}
	if err != nil {
		n.log.Warn("a node with a damaged state leads, and cannot hand over", "error", err)
	}
}

// sources returns the other members that a state may be fetched from: those that can be
// reached and know of no damage, followers first.
func (n *Node) sources(ctx context.Context) (sources []raft.Server) {
	var leaders []raft.Server
	for _, s := range n.configuration().Servers {
		if string(s.ID) == n.id {
			continue
		}
		st, err := n.statusOf(ctx, string(s.ID))
		switch {
		case err != nil || st.Damaged:
		case st.Role == "leader":
			leaders = append(leaders, s)
		default:
			sources = append(sources, s)
		}
	}
	return append(sources, leaders...)
}

// fetchState replaces the state by that of another node.
func (n *Node) fetchState(ctx context.Context, from raft.Server) (index uint64, err error) {
	c, err := n.net.Transfer(ctx, string(from.ID), string(from.Address))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	// From here on nothing is applied: the state that comes shall not be behind.
	least := max(n.state.Halt(nil), n.snaps.Position().Index, max(n.logs.FirstDurable(), 1)-1)
	defer n.applier.resume()
	in := steady{c}
	got, err := askState(in, least)
	if err != nil {
		return 0, err
	}
	if got.Index < least {
		return 0, fmt.Errorf("its state ends at log entry %d, entry %d is needed", got.Index, least)
	}
	if err := n.reachEntry(ctx, got); err != nil {
		return 0, err
	}
	if err := n.state.Restore(in); err != nil {
		return 0, err
	}
	index, _ = n.state.Applied()
	return index, nil
}

// reachEntry waits until this node's log has an entry, with its term, or a snapshot in its
// place. A state that was ahead of the log would vouch for entries that the log does not
// have.
func (n *Node) reachEntry(ctx context.Context, p raftlog.Position) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	for n.snaps.Position() != p {
		if n.logs.LastDurable() >= p.Index {
			var l raft.Log
			if err := n.logs.GetLog(p.Index, &l); err != nil || l.Term == p.Term {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("this node's log ends at entry %d, the state at entry %d of term %d",
				n.logs.LastDurable(), p.Index, p.Term)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
