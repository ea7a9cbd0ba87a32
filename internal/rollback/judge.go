package rollback

import "github.com/turnlog/turnlog/internal/raftlog"

// past notes a term that another node was in: this one may have been in it before it started,
// and if it runs with an older copy, have acknowledged entries in it.
func (d *Detector) past(term uint64) {
	d.cfg.Ballot.Past(term)
	if err := d.cfg.Mark.ProlongDoubt(term); err != nil {
		d.cfg.Fail(err)
	}
}

// judge holds what another node has seen of this one against what this node had. What the log
// was cut by rightly counts as had: what took its place is acknowledged as of a later term.
//
// If the other has seen more, an older copy of this node's data was put back. Then this node may
// have been in any term that others are in, unseen, and have acknowledged entries of it.
func (d *Detector) judge(id string, seen statement) {
	had, promised := d.cfg.Mark.Furthest(), d.cfg.Terms.Promised()
	if had.Before(seen.Position()) || promised < seen.Promised {
		d.cfg.Logger.Error("another node has seen more of this one than it has: an older copy of its data was put "+
			"back. It does not vote, nor stand for election, until a leader that others elected has sent it what is "+
			"missing; "+d.HowToElect(),
			"seen_by", id, "seen", seen.Position(), "seen_in_term", seen.Promised, "have", had, "have_term", promised)
		d.noteLoss(seen.Observation, max(promised, seen.Promised, seen.Own, d.cfg.Ballot.Forgotten()))
	}
}

// noteLoss notes, durably, that an older copy was put back. It may end in between. So the doubt
// comes first: with the term alone the next start would know of no loss. And the mark comes last:
// the next start would refuse one of a term that this node does not know.
func (d *Detector) noteLoss(seen Observation, doubt uint64) {
	err := d.cfg.Mark.NoteLoss(raftlog.Loss{Doubt: doubt, Restored: true})
	if term := max(seen.Term, seen.Promised); err == nil && d.cfg.Terms.Promised() < term {
		d.cfg.Terms.SetTerm(term)
	}
	if err == nil {
		err = d.cfg.Mark.NoteLoss(raftlog.Loss{Had: seen.Position(), Doubt: doubt, Restored: true})
	}
	if err != nil {
		d.cfg.Fail(err)
	}
}

// endDoubt ends a doubt when the leader that this node follows has told what it has seen,
// and the log has entries of its term, as far as that: a leader knows what was
// acknowledged to it, and its log has what was to those before it. One of an older turnlog
// does not know that: then an entry of a later term ends the doubt.
func (d *Detector) endDoubt(answered answers) {
	l, missing := d.cfg.Mark.Lost()
	if !missing || l.Doubt == 0 || !answered[d.cfg.Cluster.Leader()] {
		return
	}
	term := d.cfg.Cluster.Term()
	if end, err := d.cfg.LogEnd(); err == nil && l.EndedBy(term, end) {
		d.cfg.Terms.Spend(l.Doubt)
		d.cfg.Mark.EndDoubt(l.Doubt, end)
	}
}
