package staterepair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/signal"
)

const (
	// repairPause is how long a node waits before it looks again for a state to fetch.
	repairPause = 500 * time.Millisecond
	// catchUpTime bounds how long a node waits for its log to come to where a state ends
	// that it is to take.
	catchUpTime = 20 * time.Second
)

// Config configures a Repairer.
type Config struct {
	Dir     string // the node's data directory
	Cluster Cluster
	Log     Log
	// Stream streams a dump to another node, no faster than snapshots are sent.
	Stream func(*fsm.Dump) io.ReadCloser
	// Resume has a halted state machine go on, and apply what it has missed.
	Resume func() bool
	// Repaired is called when the state was replaced.
	Repaired func()
	// Fail stops the node.
	Fail   func(error)
	Logger *slog.Logger
}

// Repairer opens the state machine of a node, repairs it, and sends it to others that repair theirs.
type Repairer struct {
	cfg     Config
	state   *fsm.Machine   // once it is open
	damaged signal.Channel // the state is damaged
	sends   sync.Mutex     // held while the state is sent
}

// New returns a Repairer, which repairs nothing until Run runs.
func New(cfg Config) *Repairer { return &Repairer{cfg: cfg, damaged: signal.New()} }

// Run repairs the state whenever it is damaged, until ctx ends.
func (r *Repairer) Run(ctx context.Context) {
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.damaged:
		}
		for known := noted(r.cfg.Dir); ; known = true {
			damage, _ := r.state.Damage()
			if damage == nil {
				if known {
					r.replaced("a snapshot from the leader")
				}
				said = ""
				break
			}
			err := r.once(ctx, damage)
			if err == nil {
				said = ""
				break
			}
			if text := err.Error(); text != said && ctx.Err() == nil {
				r.cfg.Logger.Error("the state is damaged, and not repaired yet; trying again", "error", err)
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

// once tries to fetch a state from any other member.
func (r *Repairer) once(ctx context.Context, damage error) error {
	if r.cfg.Cluster.Alone() {
		return r.endure(damage)
	}
	// Damaged blocks are found again after a restart, and all else is served meanwhile.
	if r.state.HaltedByDamage() {
		if err := noteDamage(r.cfg.Dir, damage); err != nil {
			r.cfg.Logger.Warn("cannot record on disk that the state is damaged", "error", err)
		}
	}
	r.cfg.Cluster.HandOver(ctx)
	sources, damaged := r.cfg.Cluster.Sources(ctx)
	var errs []error
	for _, s := range sources {
		began := time.Now()
		index, err := r.fetch(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", s.ID, err))
			continue
		}
		r.replaced("node "+s.ID, "index", index, "duration", time.Since(began))
		return nil
	}
	return notRepaired(damage, errs, damaged)
}

// replaced forgets the damage of a state that was replaced: by a repair, or by a snapshot that Raft installed
// because the leader's log no longer had what this node lacked.
func (r *Repairer) replaced(from string, attrs ...any) {
	if err := forgetDamage(r.cfg.Dir); err != nil {
		r.cfg.Logger.Warn("cannot remove the record that the state was damaged", "error", err)
	}
	r.cfg.Logger.Info("the state is repaired", append([]any{"from", from}, attrs...)...)
	r.cfg.Repaired()
}

// notRepaired says why no source has sent its state, and what is to be done.
func notRepaired(damage error, errs []error, damaged []string) error {
	switch {
	case len(errs) > 0:
		return errors.Join(errs...)
	case len(damaged) > 0:
		return fmt.Errorf("no member has a whole state: those of the nodes %s are damaged, too, and no other member "+
			"can be reached. What is whole on any member is served; delete the sessions that cannot be read, or write "+
			"them again from an export: %w", strings.Join(damaged, ", "), damage)
	}
	return fmt.Errorf("no other member can be reached; the state remains damaged until one can: %w", damage)
}

// endure is all that the only member can do: what is whole it serves, unless it cannot go
// on at all.
func (r *Repairer) endure(damage error) error {
	if r.state.HaltedByDamage() {
		r.cfg.Fail(fmt.Errorf("staterepair: the state of the only member: %w", damage))
	}
	return fmt.Errorf("this is the only member, and no other has a copy: what is damaged cannot be read, "+
		"the rest can; export what is needed: %w", damage)
}

// fetch replaces the state by that of another node.
func (r *Repairer) fetch(ctx context.Context, from Source) (index uint64, err error) {
	c, err := r.cfg.Cluster.Connect(ctx, from)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	// From here on nothing is applied: the state that comes shall not be behind.
	least := max(r.state.Halt(nil), r.cfg.Log.Dropped())
	defer r.cfg.Resume()
	in := steady{c}
	got, err := askState(in, least)
	if err != nil {
		return 0, err
	}
	if got.Index < least {
		return 0, fmt.Errorf("its state ends at log entry %d, entry %d is needed", got.Index, least)
	}
	if err := r.reachEntry(ctx, got); err != nil {
		return 0, err
	}
	if err := r.state.Restore(in); err != nil {
		return 0, err
	}
	index, _ = r.state.Applied()
	return index, nil
}

// reachEntry waits until this node's log has an entry, with its term, or a snapshot in its
// place. A state that was ahead of the log would vouch for entries that the log does not
// have.
func (r *Repairer) reachEntry(ctx context.Context, p raftlog.Position) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	for {
		if has, err := r.cfg.Log.Has(p); has || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("this node's log ends at entry %d, the state at entry %d of term %d",
				r.cfg.Log.Last(), p.Index, p.Term)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
