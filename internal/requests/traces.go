package requests

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/trace"
)

// The traces of a batch: 8 bytes origin; then, for each command that is part of one, 8 bytes number and a
// trace.Context.
const tracedCommand = 8 + trace.EncodedLen

func appendTraces(f propose.Forwarded) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(f.Traces)*tracedCommand), f.Origin)
	for _, t := range f.Traces {
		b = t.Context.Append(binary.LittleEndian.AppendUint64(b, t.Number))
	}
	return b
}

func parseTraces(b []byte) (origin uint64, traces []propose.Announced, err error) {
	if len(b) < 8 || (len(b)-8)%tracedCommand != 0 {
		return 0, nil, errShort
	}
	origin, b = binary.LittleEndian.Uint64(b), b[8:]
	for ; len(b) > 0; b = b[tracedCommand:] {
		traces = append(traces, propose.Announced{Number: binary.LittleEndian.Uint64(b), Context: trace.Decode(b[8:])})
	}
	return origin, traces, nil
}

// takeTraces takes the traces of the batch that comes next on the connection.
func (s *Server) takeTraces(r peer.Request) error {
	origin, traces, err := parseTraces(r.Payload)
	if err == nil {
		s.Traces.Announce(origin, r.From.NodeID, traces)
	}
	return err
}
