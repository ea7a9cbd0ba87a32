package httpapi

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
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
		if trace := traceID(ids[0]); trace != "" {
			return trace
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

// traceID returns the trace's id of a traceparent, "" if it is malformed. Versions after 00 may have more at their
// end.
func traceID(parent string) string {
	const length = len("00-") + 32 + len("-") + 16 + len("-01")
	if len(parent) < length || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || !lowerHex(parent[:2]) ||
		!lowerHex(parent[3:35]) || !lowerHex(parent[36:52]) || !lowerHex(parent[53:55]) {
		return ""
	}
	version, rest := parent[:2], parent[length:]
	if version == "ff" || version == "00" && rest != "" || rest != "" && rest[0] != '-' {
		return ""
	}
	if trace := parent[3:35]; strings.Trim(trace, "0") != "" && strings.Trim(parent[36:52], "0") != "" {
		return trace
	}
	return ""
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
