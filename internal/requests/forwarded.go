package requests

import (
	"encoding/binary"
	"errors"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// Forward sends a batch to a node, behind those that were sent to it before, and does not block. answered is called
// once: with the outcomes, or with why there are none.
func (c Client) Forward(to string, b propose.Forwarded, answered func([]fsm.Outcome, *propose.Failure)) {
	if len(b.Traces) > 0 {
		c.Net.Send(to, kindTraces, appendTraces(b), func([]byte, error) {})
	}
	c.Net.Send(to, kindForward, appendForwarded(b), func(answer []byte, err error) {
		answered(forwardedOutcomes(answer, err))
	})
}

// forwardedOutcomes returns what became of a forwarded batch, by the answer to it.
func forwardedOutcomes(answer []byte, err error) ([]fsm.Outcome, *propose.Failure) {
	switch {
	case errors.Is(err, peer.ErrNotSent), errors.Is(err, peer.ErrOverloaded):
		return nil, propose.Definite(unavailable("cannot reach the leader: %v", err))
	case err != nil:
		return nil, lost(err)
	}
	content, f, err := open(answer)
	if err != nil {
		return nil, lost(err)
	}
	if f != nil {
		return nil, f
	}
	outs, err := parseOutcomes(content)
	if err != nil {
		return nil, lost(err)
	}
	return outs, nil
}

// lost is the failure of a batch of which it is not known what became.
func lost(err error) *propose.Failure {
	return &propose.Failure{Err: turn.Errorf(turn.Unknown, "the outcome of the batch is unknown: %v", err)}
}

// takeForwarded takes a batch of another node's, which this one should lead. It does not block.
func (s *Server) takeForwarded(r peer.Request, reply func([]byte, error)) {
	b, err := parseForwarded(r.Payload)
	if err != nil {
		reply(nil, err)
		return
	}
	s.Inbox.Take(r.From.NodeID, b, len(r.Payload), func(outs []fsm.Outcome, f *propose.Failure) {
		if f != nil {
			reply(failed(f), nil)
			return
		}
		reply(appendOutcomes([]byte{answerOK}, outs), nil)
	})
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
// 2 skipped), uvarint length, encoding. One of origin 0 tells of the next: see fsm.Outcome.
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
