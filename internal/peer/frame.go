package peer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A frame of an RPC connection:
//
//	4 bytes  length of what follows, little endian
//	byte     type
//	8 bytes  request id, little endian
//	byte     kind of a request, status of a response, else 0
//	…        payload
type frame struct {
	typ     frameType
	id      uint64
	tag     byte // Kind or status
	payload []byte
}

type frameType uint8

const (
	frameRequest frameType = iota + 1
	frameResponse
	framePing
	framePong
	frameCancel // the asker no longer waits for the answer to request id
)

const (
	statusOK byte = iota
	statusOverloaded
	statusFailed // payload is the error's text
)

const (
	frameLength = 4
	frameHeader = 1 + 8 + 1
	// eagerAlloc bounds what a frame's announced length alone makes us allocate.
	eagerAlloc = 1 << 20
)

// appendHeader appends the head of a frame with a payload of n bytes.
func appendHeader(b []byte, f frame) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(frameHeader+len(f.payload)))
	b = append(b, byte(f.typ))
	b = binary.LittleEndian.AppendUint64(b, f.id)
	return append(b, f.tag)
}

// readFrame reads one frame. The payload is the caller's to keep.
func readFrame(r *bufio.Reader, maxPayload int) (frame, error) {
	h, err := r.Peek(frameLength + frameHeader)
	if err != nil {
		if err == io.EOF && len(h) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	n := int64(binary.LittleEndian.Uint32(h)) - frameHeader
	f := frame{typ: frameType(h[4]), id: binary.LittleEndian.Uint64(h[5:]), tag: h[13]}
	if n < 0 || n > int64(maxPayload) {
		return frame{}, fmt.Errorf("peer: frame with a payload of %d bytes, the limit is %d", n, maxPayload)
	}
	if f.typ < frameRequest || f.typ > frameCancel {
		return frame{}, fmt.Errorf("peer: unknown frame type %d", f.typ)
	}
	if _, err := r.Discard(frameLength + frameHeader); err != nil {
		return frame{}, err
	}
	f.payload, err = readPayload(r, int(n))
	return f, err
}

func readPayload(r io.Reader, n int) ([]byte, error) {
	p := make([]byte, 0, min(n, eagerAlloc))
	for len(p) < n {
		if len(p) == cap(p) {
			p = append(make([]byte, 0, min(n, 4*cap(p))), p...)
		}
		m, err := io.ReadFull(r, p[len(p):cap(p)])
		p = p[:len(p)+m]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}
