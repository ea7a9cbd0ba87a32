package httpapi

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"

	"github.com/turnlog/turnlog/internal/trace"
)

// Header names by which a request, and what it is part of, can be found again in logs.
const (
	requestIDHeader = "X-Request-Id"
	traceHeader     = "Traceparent" // of the W3C's Trace Context
)

// maxRequestID is the length up to which a client's id is taken: it is repeated in the answer and in log lines.
const maxRequestID = 128 // bytes

// requestID returns the id of a request: the client's own, or the id of the trace that it is part of, or a new one. A
// client's id that is longer than maxRequestID, or has other bytes than visible ASCII, is not taken, nor one of
// several.
func requestID(h http.Header) string {
	if ids := h[requestIDHeader]; len(ids) == 1 && fitRequestID(ids[0]) {
		return ids[0]
	}
	if ids := h[traceHeader]; len(ids) == 1 {
		if parent, ok := trace.Parse(ids[0]); ok {
			return parent.TraceID()
		}
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	return hex.EncodeToString(b[:])
}

func fitRequestID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
