package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// A proposal is an entry between the proposer and the end of the leader's log. It
// names the term that it was made for, in the entry's extension, which never gets into
// the log.
//
// Raft takes an entry in whatever term the node leads by then, which may be a later one
// than that for which the proposer made it; and it may refuse one and take the next. The
// log store sees what Raft has decided before anything of it is stored or sent. There
// a proposal for another term is rejected, which ends the term, as every error of the
// store does; and there the proposer learns that its proposal is in its place, so that
// the next one may follow.
//
// A change of the configuration has no extension. Its term is the one that was named
// last by reconfigureIn. Where one is not stored the node stops: see rejected.

// ErrOtherTerm says that what was proposed is not in the log, and never will be.
var ErrOtherTerm = errors.New("it was proposed for an earlier term")

// NewProposal returns an entry of commands as a proposal for a term.
func NewProposal(term uint64, entry []byte) raft.Log {
	return raft.Log{Data: entry, Extensions: binary.LittleEndian.AppendUint64(nil, term)}
}

// takeProposals rejects what this node proposed for another term than the one in
// which Raft is about to store it. Of the other proposals it makes mere entries, and
// tells the proposer.
func (s *Store) takeProposals(logs []*raft.Log) error {
	for _, l := range logs {
		if term := s.proposedFor(l); term != 0 && term != l.Term {
			return ErrOtherTerm
		}
	}
	for _, l := range logs {
		if len(l.Extensions) > 0 {
			l.Extensions = nil
			s.cfg.Placed()
		}
	}
	return nil
}

// proposedFor returns the term for which this node proposed an entry; 0: it did not,
// or for any term. What Raft stores while this node leads is proposed here: role and
// term change on the goroutine that stores.
func (s *Store) proposedFor(l *raft.Log) uint64 {
	switch {
	case len(l.Extensions) == 8:
		return binary.LittleEndian.Uint64(l.Extensions)
	case l.Type == raft.LogConfiguration && s.cfg.Leads():
		return s.changes.Load()
	}
	return 0
}

// ReconfigureIn has changes of the configuration that this node makes from here on
// take place in a term, or not at all.
func (s *Store) ReconfigureIn(term uint64) { s.changes.Store(term) }

// rejected returns why entries are not stored, unless there is a change of the
// configuration by this node among them: Raft goes on with that as if it were stored.
func (s *Store) rejected(logs []*raft.Log, why error) error {
	for _, l := range logs {
		if l.Type == raft.LogConfiguration && s.cfg.Leads() {
			s.cfg.Halt(fmt.Errorf("raftlog: store a change of the configuration: %w; the configuration is as before: "+
				"start the node again", why))
		}
	}
	return why
}
