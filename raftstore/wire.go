package raftstore

import (
	"encoding/binary"
	"errors"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// The requests between nodes. Numbers are never reused.
const (
	kindForward peer.Kind = peer.Ordered | 1 // a batch of commands for the leader
	kindConfirm peer.Kind = peer.Ordered | 2 // is there a newer term? (see package readindex)
	kindCast    peer.Kind = peer.Ordered | 3 // a message beside the log (see package broadcast)

	kindQuery   peer.Kind = 1 // a linearizable query for the leader
	kindIndex   peer.Kind = 2 // a read index from the leader
	kindStatus  peer.Kind = 3 // a node's own view of itself
	kindMembers peer.Kind = 4 // a membership change for the leader
	kindSeen    peer.Kind = 5 // how far the asker is; what was seen of it before
	// kindMemberQuery is a linearizable query for a member, of what is damaged on the leader.
	kindMemberQuery peer.Kind = 6
)

// An answer starts with a byte that tells what became of the request; if it failed,
// an encoded turn.Error follows.
const (
	answerOK byte = iota
	answerFailed
	answerUnknown   // failed, and perhaps it took place nevertheless
	answerNotLeader // ask another node
)

var errShort = errors.New("raftstore: malformed message from another node")

// definite is the failure of what surely did not take place, and will not.
func definite(why *turn.Error) *propose.Failure { return &propose.Failure{Definite: true, Err: why} }

func badly(f *propose.Failure) []byte {
	b, err := codec.EncodeError(f.Err)
	if err != nil {
		b = nil
	}
	if f.Definite {
		return append([]byte{answerFailed}, b...)
	}
	return append([]byte{answerUnknown}, b...)
}

// open splits an answer. The failure is nil if the request succeeded.
func open(b []byte) ([]byte, *propose.Failure, error) {
	if len(b) == 0 {
		return nil, nil, errShort
	}
	switch b[0] {
	case answerOK:
		return b[1:], nil, nil
	case answerNotLeader:
		return nil, propose.NotLeader(), nil
	case answerFailed, answerUnknown:
		e, err := codec.DecodeError(b[1:])
		if err != nil {
			return nil, nil, err
		}
		return nil, &propose.Failure{Definite: b[0] == answerFailed, Err: e}, nil
	}
	return nil, nil, errShort
}

// A forwarded batch: 8 bytes origin, 8 bytes session, 8 bytes place in the
// session, then the commands in the layout of a log entry.
const forwardHeader = 24

// maxForwarded bounds the commands of a batch: no node has more calls (CallBounds).
const maxForwarded = 1 << 16

func appendForwarded(f propose.Forwarded) []byte {
	size := forwardHeader + 16
	for i := range f.Commands {
		size += 24 + len(f.Commands[i].Op)
	}
	b := make([]byte, 0, size)
	for _, v := range [...]uint64{f.Origin, f.Session, f.Place} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return codec.AppendEntry(b, 0, f.Commands)
}

func parseForwarded(b []byte) (propose.Forwarded, error) {
	if len(b) < forwardHeader {
		return propose.Forwarded{}, errShort
	}
	e, err := codec.DecodeEntry(b[forwardHeader:])
	if len(e.Commands) > maxForwarded {
		return propose.Forwarded{}, errShort
	}
	return propose.Forwarded{
		Origin:   binary.LittleEndian.Uint64(b),
		Session:  binary.LittleEndian.Uint64(b[8:]),
		Place:    binary.LittleEndian.Uint64(b[16:]),
		Commands: e.Commands,
	}, err
}

// Outcomes are, each: uvarint origin, uvarint number, a byte (0 result, 1 error,
// 2 skipped), uvarint length, encoding.
func appendOutcomes(b []byte, outs []fsm.Outcome) []byte {
	for i := range outs {
		o := &outs[i]
		var form byte
		var content []byte
		var err error
		switch {
		case o.Skipped:
			form = 2
		case o.Err != nil:
			form = 1
			content, err = codec.EncodeError(o.Err)
		default:
			content, err = codec.EncodeResult(&o.Result)
		}
		if err != nil {
			form, content = 2, nil // the asker sees the result when it applies the entry itself
		}
		b = binary.AppendUvarint(b, o.Origin)
		b = binary.AppendUvarint(b, o.Number)
		b = append(b, form)
		b = binary.AppendUvarint(b, uint64(len(content)))
		b = append(b, content...)
	}
	return b
}

func parseOutcomes(b []byte) ([]fsm.Outcome, error) {
	var outs []fsm.Outcome
	for len(b) > 0 {
		var o fsm.Outcome
		var n uint64
		var form byte
		ok := uvarint(&b, &o.Origin) && uvarint(&b, &o.Number) && len(b) > 0
		if ok {
			form, b = b[0], b[1:]
			ok = uvarint(&b, &n) && n <= uint64(len(b))
		}
		if !ok {
			return nil, errShort
		}
		content := b[:n]
		b = b[n:]
		var err error
		switch form {
		case 0:
			o.Result, err = codec.DecodeResult(content)
		case 1:
			o.Err, err = codec.DecodeError(content)
		case 2:
			o.Skipped = true
		default:
			err = errShort
		}
		if err != nil {
			return nil, err
		}
		outs = append(outs, o)
	}
	return outs, nil
}

func uvarint(b *[]byte, v *uint64) bool {
	n, size := binary.Uvarint(*b)
	if size <= 0 {
		return false
	}
	*v, *b = n, (*b)[size:]
	return true
}

func unavailable(format string, args ...any) *turn.Error {
	return turn.Errorf(turn.Unavailable, format, args...)
}
