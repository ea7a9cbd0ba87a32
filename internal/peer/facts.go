package peer

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Facts is what a node says about itself in a handshake.
type Facts struct {
	ClusterID   string // empty as long as the node knows of none
	NodeID      string
	Incarnation string    // drawn when the node's data directory was made
	Wall        time.Time // its wall clock, in whole milliseconds
	Progress    uint64    // how far its state goes, in a measure of the caller's
	Level       uint64    // the highest level that its version knows; 0 also if it tells none
	LogIndex    uint64    // the end of its log, and the term there; 0 also if it tells none
	LogTerm     uint64
	// The last entry that the node knows to be committed, and its term; 0 also if it tells none.
	CommittedIndex, CommittedTerm uint64
	Recorded                      bool // its state records it as a member
}

// Purpose is what a connection is for.
type Purpose uint8

const (
	Stream   Purpose = iota + 1 // raw bytes, handed over through Streams
	RPC                         // requests
	Probe                       // the handshake alone
	Transfer                    // raw bytes, for Config.Transfer
)

func (p Purpose) String() string {
	switch p {
	case Stream:
		return "stream"
	case RPC:
		return "rpc"
	case Probe:
		return "probe"
	case Transfer:
		return "transfer"
	}
	return fmt.Sprintf("purpose %d", uint8(p))
}

// Meeting is a handshake as Admit judges it.
type Meeting struct {
	Remote  Facts
	Purpose Purpose
	// Dialed is the address that was dialed; empty on the accepting side.
	Dialed string
	// Offset is the remote wall clock minus the own one, as far as the
	// handshake can tell: it errs by the time that the message was in flight.
	Offset time.Duration
	// Said is what the dialer's Config.Say returned, on the accepting side once the
	// handshake is over; empty of a version that says nothing.
	Said []byte
}

// Code classifies a Refusal. Codes cross the wire: the list grows at its end.
type Code uint8

const (
	RefusedOther       Code = iota + 1
	RefusedVersion          // the handshake's version is not spoken here
	RefusedCluster          // another cluster's node
	RefusedIncarnation      // the node id is taken by another incarnation
	RefusedNode             // not the node that was meant, or not one of ours
	RefusedLevel            // its version does not know the cluster's level
	RefusedCredential       // it has not proved to be the node that it says it is
	RefusedMember           // it is not, or no longer, a member of the cluster
)

// Refusal is a handshake turned down. An Admit callback returns one to say why;
// the other side's dial then fails with it.
type Refusal struct {
	Code   Code
	Reason string
}

func (r *Refusal) Error() string { return "refused: " + r.Reason }

const maxFact = 256 // bytes of one string in a handshake, reasons excepted
const maxReason = 1024

// appendGreeting appends facts and a text, which versions before levels know, and
// then what those do not read.
func appendGreeting(b []byte, f Facts, text string, limit int) []byte {
	b = appendString(appendFacts(b, f), text, limit)
	b = binary.LittleEndian.AppendUint64(b, f.Level)
	b = binary.LittleEndian.AppendUint64(b, f.LogIndex)
	b = binary.LittleEndian.AppendUint64(b, f.LogTerm)
	b = binary.LittleEndian.AppendUint64(b, f.CommittedIndex)
	b = binary.LittleEndian.AppendUint64(b, f.CommittedTerm)
	if f.Recorded {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendFacts(b []byte, f Facts) []byte {
	b = appendString(b, f.ClusterID, maxFact)
	b = appendString(b, f.NodeID, maxFact)
	b = appendString(b, f.Incarnation, maxFact)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Wall.UnixMilli()))
	return binary.LittleEndian.AppendUint64(b, f.Progress)
}

func appendString(b []byte, s string, limit int) []byte {
	s = s[:min(len(s), limit)]
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

// fields reads off the front of b; bad sticks.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) take(n int) []byte {
	if f.bad || n > len(f.b) {
		f.bad = true
		return make([]byte, min(n, 8))
	}
	v := f.b[:n]
	f.b = f.b[n:]
	return v
}

func (f *fields) string(limit int) string {
	n := int(binary.LittleEndian.Uint16(f.take(2)))
	if n > limit {
		f.bad = true
		return ""
	}
	return string(f.take(n))
}

func (f *fields) greeting(limit int) (Facts, string) {
	facts, text := f.facts(), f.string(limit)
	if !f.bad && len(f.b) >= 8 {
		facts.Level = binary.LittleEndian.Uint64(f.take(8))
	}
	if !f.bad && len(f.b) >= 16 {
		facts.LogIndex = binary.LittleEndian.Uint64(f.take(8))
		facts.LogTerm = binary.LittleEndian.Uint64(f.take(8))
	}
	if !f.bad && len(f.b) >= 16 {
		facts.CommittedIndex = binary.LittleEndian.Uint64(f.take(8))
		facts.CommittedTerm = binary.LittleEndian.Uint64(f.take(8))
	}
	if !f.bad && len(f.b) >= 1 {
		facts.Recorded = f.take(1)[0] == 1
	}
	return facts, text
}

func (f *fields) facts() Facts {
	return Facts{
		ClusterID:   f.string(maxFact),
		NodeID:      f.string(maxFact),
		Incarnation: f.string(maxFact),
		Wall:        time.UnixMilli(int64(binary.LittleEndian.Uint64(f.take(8)))),
		Progress:    binary.LittleEndian.Uint64(f.take(8)),
	}
}
