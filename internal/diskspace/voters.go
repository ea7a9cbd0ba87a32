package diskspace

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Cluster is what a leader asks about the other voters' disks, and has done about its own.
type Cluster interface {
	// Leads reports whether this node leads.
	Leads() bool
	// Voters returns the voters of the latest configuration: the others, and whether this node is one.
	Voters() (others []string, self bool)
	// Ask asks another node for its Report, and tells it why writes that need space are rejected;
	// empty: they are not.
	Ask(ctx context.Context, id, rejects string) (Report, error)
	Connected(id string) bool
	// HandOver has another voter lead.
	HandOver(ctx context.Context) error
	// MoveTime has cluster time go on.
	MoveTime(ctx context.Context) error
}

// voterSpace is how a leader decides by the space on all voters' disks.
type voterSpace struct {
	*Space
	cfg   *Config
	known map[string]Report // the last report of each voter
	next  time.Time         // no attempt to hand over before
	tick  time.Time         // when cluster time is to go on next
}

// moveTimeEvery is how often a leader lets time pass while it rejects writes.
const moveTimeEvery = 30 * time.Second

// handOverEvery is the pause after an attempt to hand over for want of space.
const handOverEvery = 10 * time.Second

// decide asks the other voters and decides what is admitted. A leader that is
// short of space itself hands over, if a quorum has space without it.
func (v *voterSpace) decide(ctx context.Context) {
	before := v.Refusal()
	reports := v.ask(ctx)
	why := v.rejection(reports, func(r Report) bool { return r.Short })
	full := v.rejection(reports, func(r Report) bool { return r.LogFull })
	if short := v.short.Load(); short != nil && why == nil {
		if v.handOver(ctx) {
			return
		}
		why = short
	}
	if why == nil {
		why = full
	}
	v.heard.Store(0)
	v.exhausted.Store(full != nil || v.logFull.Load())
	v.full.Store(why)
	if (before != nil) != (why != nil) {
		v.ask(ctx) // they learn it
	}
	v.moveTime(ctx)
}

// moveTime advances cluster time while writes are rejected: deleted data is removed from
// the disks only when its deadline has passed. Where a log has no room even for what frees space, it has none for that.
func (v *voterSpace) moveTime(ctx context.Context) {
	if v.Refusal() == nil || v.Exhausted() || time.Now().Before(v.tick) {
		return
	}
	v.tick = time.Now().Add(moveTimeEvery)
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Wait)
	defer cancel()
	if err := v.cfg.Cluster.MoveTime(ctx); err != nil {
		v.cfg.Logger.Debug("cannot advance cluster time", "error", err)
	}
}

// ask returns the reports of the voters that can be reached.
func (v *voterSpace) ask(ctx context.Context) map[string]Report {
	rejects := ""
	if why := v.Refusal(); why != nil {
		rejects = why.Message
	}
	others, voter := v.cfg.Cluster.Voters()
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := make(map[string]Report)
	if voter {
		got[v.cfg.Node] = v.Report()
	}
	for _, id := range others {
		wg.Go(func() {
			r, err := v.cfg.Cluster.Ask(ctx, id, rejects)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				got[id] = r
			} else if last, ok := v.known[id]; ok && v.cfg.Cluster.Connected(id) {
				got[id] = last // it is busy
			}
		})
	}
	wg.Wait()
	v.known = got
	return got
}

// rejection returns why the cluster is to take no more: no quorum is left without
// those of which bad is true, and with them there is one.
func (v *voterSpace) rejection(reports map[string]Report, bad func(Report) bool) *turn.Error {
	well, first := 0, ""
	for id, r := range reports {
		if !bad(r) {
			well++
		} else if first == "" || id < first {
			first = id
		}
	}
	others, voter := v.cfg.Cluster.Voters()
	quorum := len(others)/2 + 1
	if voter {
		quorum = (len(others)+1)/2 + 1
	}
	if well >= quorum || len(reports) < quorum || first == "" {
		return nil
	}
	if why := reports[first].Why; why != "" {
		return turn.Errorf(turn.ReadOnly, "%s", why)
	}
	return turn.Errorf(turn.ReadOnly, "the disk of node %s is full: %s", first, Advice)
}

// handOver reports whether another node leads now, or is about to.
func (v *voterSpace) handOver(ctx context.Context) bool {
	if others, _ := v.cfg.Cluster.Voters(); len(others) == 0 || time.Now().Before(v.next) {
		return false
	}
	v.next = time.Now().Add(handOverEvery)
	v.cfg.Logger.Warn("the disk is nearly full; transferring leadership", "free", v.free.Load())
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Wait)
	defer cancel()
	if err := v.cfg.Cluster.HandOver(ctx); err != nil {
		v.cfg.Logger.Warn("cannot transfer leadership", "error", err)
		return false
	}
	return true
}
