package propose

import "github.com/turnlog/turnlog/fsm"

// Log is the replicated log as its leader writes to it.
type Log interface {
	// Leads reports whether this node leads in a term.
	Leads(term uint64) bool
	// Propose hands over an entry, which is stored in the given term or not at all, and
	// returns when the log has taken or rejected it. outcome waits for what became of it:
	// an outcome for each command, or why there is none. It may never return once the log
	// is shut down.
	Propose(term uint64, entry []byte) (outcome func() ([]fsm.Outcome, *Failure))
}

// Term is a term in which this node leads, for as long as the Proposer works in it.
type Term struct {
	Number uint64

	log  Log
	now  func() int64  // cluster time
	gen  uint64        // generation of the table of calls, set by Proposer.Begin
	over chan struct{} // closed by Proposer.End
}

// NewTerm returns a term that has not begun. Entries are stamped with now, which is cluster time.
func NewTerm(number uint64, log Log, now func() int64) *Term {
	return &Term{Number: number, log: log, now: now, over: make(chan struct{})}
}

// Holds reports whether the node still leads in the term.
func (t *Term) Holds() bool { return t.log.Leads(t.Number) }

// Ended reports whether the Proposer has ended the term.
func (t *Term) Ended() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}
