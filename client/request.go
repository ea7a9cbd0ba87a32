package client

import (
	"strconv"

	"github.com/turnlog/turnlog/turn"
)

// request is one command, encoded once and sent unchanged at every attempt.
type request struct {
	verb  verb
	again again
	args  int
	body  []byte   // the arguments as RESP bulk strings
	trace *request // sent before it, to make it part of a trace; nil: it is part of none
	held  *held    // what it takes of Config.MaxInFlightBytes; nil: nothing
}

func newRequest(v verb) *request {
	r := &request{verb: v, again: verbs[v].again}
	return r.strings(verbs[v].command)
}

// request begins a request on the session.
func (s Session) request(v verb) *request { return newRequest(v).strings(s.key) }

func (r *request) strings(args ...string) *request {
	for _, s := range args {
		r.head(len(s))
		r.body = append(append(r.body, s...), '\r', '\n')
	}
	return r
}

func (r *request) bytes(b []byte) *request {
	r.head(len(b))
	r.body = append(append(r.body, b...), '\r', '\n')
	return r
}

func (r *request) head(n int) {
	r.args++
	r.body = strconv.AppendInt(append(r.body, '$'), int64(n), 10)
	r.body = append(r.body, '\r', '\n')
}

func (r *request) int(n int64) *request   { return r.strings(strconv.FormatInt(n, 10)) }
func (r *request) uint(n uint64) *request { return r.strings(strconv.FormatUint(n, 10)) }

func (r *request) expect(revision *uint64) *request {
	if revision != nil {
		r.strings("EXPECT").uint(*revision)
	}
	return r
}

func (r *request) metadata(set map[string]string, unset []string) *request {
	for k, v := range set {
		r.strings("SET", k, v)
	}
	for _, k := range unset {
		r.strings("UNSET", k)
	}
	return r
}

func (r *request) messages(ms []turn.NewMessage) *request {
	size := len(r.body)
	for i := range ms {
		size += len(ms[i].ID) + len(ms[i].Data) + 48
	}
	r.body = append(make([]byte, 0, size), r.body...)
	for i := range ms {
		r.strings("MSG", ms[i].ID).bytes(ms[i].Data)
	}
	return r
}

// appendTo appends the whole frame to dst.
func (r *request) appendTo(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, '*'), int64(r.args), 10)
	dst = append(dst, '\r', '\n')
	return append(dst, r.body...)
}

// weight is what the request counts against Config.MaxInFlightBytes.
func (r *request) weight() int64 { return int64(len(r.body)) + 1024 }

// message names a message in a request.
func (r *request) message(m turn.MessageRef) *request {
	if m.ID != "" {
		return r.strings("ID", m.ID)
	}
	return r.strings("SEQ").uint(m.Seq)
}
