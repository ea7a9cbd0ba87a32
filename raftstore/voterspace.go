package raftstore

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// survey is how a leader decides by the space on all voters' disks.
type survey struct {
	node  *Node
	known map[string]nodeStatus // the last report of each voter
	next  time.Time             // no attempt to hand over before
	tick  time.Time             // when the next Tick is due
}

// leaderNotice goes with a leader's request for a status.
type leaderNotice struct {
	Rejects string `json:"rejects,omitempty"` // why operations that need space are rejected; empty: they are not
}

// tickWhenFull is how often a leader lets time pass while it rejects writes.
const tickWhenFull = 30 * time.Second

// handOverEvery is the pause after an attempt to hand over for want of space.
const handOverEvery = 10 * time.Second

// decide asks the other voters and decides what is admitted. A leader that is
// short of space itself hands over, if a quorum has space without it.
func (v *survey) decide(ctx context.Context) {
	n := v.node
	before := n.space.Refusal()
	reports := v.ask(ctx)
	why := v.rejection(reports, func(s nodeStatus) bool { return s.NoSpace })
	full := v.rejection(reports, func(s nodeStatus) bool { return s.NoLog })
	if short := n.space.short.Load(); short != nil && why == nil {
		if v.handOver(ctx) {
			return
		}
		why = short
	}
	if why == nil {
		why = full
	}
	n.space.heard.Store(0)
	n.space.exhausted.Store(full != nil || n.space.logFull.Load())
	n.space.full.Store(why)
	if (before != nil) != (why != nil) {
		v.ask(ctx) // they learn it
	}
	v.moveTime(ctx)
}

// moveTime advances cluster time while writes are rejected: deleted data is removed from
// the disks only when its deadline has passed.
func (v *survey) moveTime(ctx context.Context) {
	n := v.node
	if n.space.Refusal() == nil || time.Now().Before(v.tick) {
		return
	}
	v.tick = time.Now().Add(tickWhenFull)
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
	defer cancel()
	if _, err := n.propose(ctx, nil, &codec.Tick{}); err != nil {
		n.log.Debug("cluster time does not go on", "error", err)
	}
}

// ask returns the reports of the voters that can be reached.
func (v *survey) ask(ctx context.Context) map[string]nodeStatus {
	n := v.node
	var notice leaderNotice
	if why := n.space.Refusal(); why != nil {
		notice.Rejects = why.Message
	}
	payload, err := json.Marshal(notice)
	if err != nil {
		n.fail(err)
		return nil
	}
	others, voter := n.voters()
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := make(map[string]nodeStatus)
	if voter {
		got[n.id] = n.status()
	}
	for _, id := range others {
		wg.Go(func() {
			s, err := n.askStatus(ctx, id, payload)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				got[id] = s
			} else if last, ok := v.known[id]; ok && n.net.Connected(id) {
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
func (v *survey) rejection(reports map[string]nodeStatus, bad func(nodeStatus) bool) *turn.Error {
	well, first := 0, ""
	for id, s := range reports {
		if !bad(s) {
			well++
		} else if first == "" || id < first {
			first = id
		}
	}
	others, voter := v.node.voters()
	quorum := len(others)/2 + 1
	if voter {
		quorum = (len(others)+1)/2 + 1
	}
	if well >= quorum || len(reports) < quorum || first == "" {
		return nil
	}
	if s := reports[first]; s.Space != "" {
		return turn.Errorf(turn.ReadOnly, "%s", s.Space)
	}
	return turn.Errorf(turn.ReadOnly, "the disk of node %s is full: %s", first, onFullDisk)
}

// handOver reports whether another node leads now, or is about to.
func (v *survey) handOver(ctx context.Context) bool {
	n := v.node
	if others, _ := n.voters(); len(others) == 0 || time.Now().Before(v.next) {
		return false
	}
	v.next = time.Now().Add(handOverEvery)
	n.log.Warn("the disk is nearly full, another node is to lead", "free", n.space.free.Load())
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
	defer cancel()
	if err := n.TransferLeadership(ctx); err != nil {
		n.log.Warn("no other node is made to lead", "error", err)
		return false
	}
	return true
}
