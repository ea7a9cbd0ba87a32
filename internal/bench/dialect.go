package bench

import "fmt"

// dialect is a protocol: how requests look, and where an answer ends. The methods
// that make requests append to dst and return how many answers will come.
type dialect interface {
	// hello begins a connection; no answers: nothing has to be said.
	hello(dst []byte) ([]byte, int)
	// append adds n messages to a session, as one turn.
	append(dst, key []byte, n int, p *payloads) ([]byte, int)
	// read asks for the last n messages of a session.
	read(dst, key []byte, n int) ([]byte, int)
	// answer looks for an answer at the beginning of buf and returns its length,
	// 0 if it is not complete yet. An answer that says that the request failed is
	// a refusal; another error means that the connection is out of step.
	answer(buf []byte) (int, error)
}

// refusal is an answer by which a server says that it did not do what it was
// asked for.
type refusal string

func (r refusal) Error() string { return string(r) }

func (t *Target) dialect() (dialect, error) {
	switch t.Protocol {
	case Turnlog:
		return &turnDialect{respFrames{t}}, nil
	case Redis:
		return &listDialect{respFrames{t}}, nil
	case HTTP:
		return newHTTPDialect(t), nil
	}
	return nil, fmt.Errorf("unknown protocol %q", t.Protocol)
}
