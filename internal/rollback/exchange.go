package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
)

// Run tells the other members how far this node is, and hears what they have
// seen of it, until ctx ends. After a start the node votes when all have answered; one that does not
// answer is not waited for longer than others wait for a leader.
func (d *Detector) Run(ctx context.Context) {
	answered := make(answers)
	saved := time.Now()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			d.save()
			return
		case <-d.soon:
		case <-wait.C:
		}
		ids := d.others()
		d.ask(ctx, ids, answered)
		d.endDoubt(answered)
		if _, missing := d.cfg.Mark.Lost(); !missing {
			d.cfg.Whole()
		}
		next := askEvery
		if d.heardAll(ids, answered) {
			d.cfg.Ballot.Asked()
		} else if d.cfg.Ballot.Ready() != nil {
			next = askSoon
		}
		if time.Since(saved) >= saveEvery {
			saved = time.Now()
			d.cfg.Seen.Keep(d.others())
			d.save()
		}
		wait.Reset(next)
	}
}

// ask tells the given nodes how far this one is, and notes in answered which of them have answered.
// What they have seen counts the first time: what this node said in between is no news.
func (d *Detector) ask(ctx context.Context, ids []string, answered answers) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	p := d.cfg.Mark.Position()
	l, missing := d.cfg.Mark.Lost()
	q := question{
		Observation: Observation{Index: p.Index, Term: p.Term, Promised: d.cfg.Terms.Promised()},
		Boot:        d.cfg.Boot, Doubt: missing && l.Doubt > 0,
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range ids {
		payload, err := json.Marshal(q.to(d.cfg.Seen.Last(id)))
		if err != nil {
			continue // plain numbers and an id: it cannot fail
		}
		wg.Go(func() {
			answer, err := d.cfg.Ask(ctx, id, payload)
			mu.Lock()
			defer mu.Unlock()
			d.heard(answered, id, answer, err)
		})
	}
	wg.Wait()
}

// heard notes another node's answer.
func (d *Detector) heard(answered answers, id string, answer []byte, err error) {
	var old *peer.RemoteError // an older turnlog does not know the question
	switch {
	case answered.has(id):
	case errors.As(err, &old):
		answered[id] = false
	case err == nil && d.compare(id, answer):
		answered[id] = true
	}
}

// compare holds what another node answered against what this node has. It reports whether
// the other could say anything.
func (d *Detector) compare(id string, answer []byte) bool {
	var r reply
	if json.Unmarshal(answer, &r) != nil {
		return false
	}
	d.past(r.Own)
	d.judge(id, r.statement)
	d.introduce(r.Members)
	return true
}

// Answer answers another node's question.
func (d *Detector) Answer(from peer.Facts, payload []byte) ([]byte, error) {
	var now question
	if err := json.Unmarshal(payload, &now); err != nil {
		return nil, err
	}
	now.Incarnation = from.Incarnation
	before := Observation{}
	replaced := d.cfg.Cluster.Replaced(from) // it may have been since the connection was made
	if !replaced && slices.Contains(d.cfg.Cluster.Members(), from.NodeID) {
		before = d.cfg.Seen.Met(from.NodeID, now.Observation, now.Boot)
		d.cfg.Seen.noteDoubt(from.NodeID, now.Doubt)
	}
	if now.Seen != nil {
		d.toldUnasked(from.NodeID, statement{*now.Seen, now.Promised})
	}
	return json.Marshal(reply{statement{before, d.cfg.Terms.Promised()}, d.cfg.Cluster.Known()})
}
