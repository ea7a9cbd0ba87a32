package target

import "fmt"

// Dialect is a protocol: how requests look, and where an answer ends. The methods
// that make requests append to dst and return how many answers will come.
type Dialect interface {
	// Hello begins a connection; no answers: nothing has to be said.
	Hello(dst []byte) ([]byte, int)
	// Append adds n messages to a session, as one turn.
	Append(dst, key []byte, n int, p *Payloads) ([]byte, int)
	// Read asks for the last n messages of a session.
	Read(dst, key []byte, n int) ([]byte, int)
	// Answer looks for an answer at the beginning of buf and returns its length,
	// 0 if it is not complete yet. An answer that says that the request failed is
	// a Refusal; another error means that the connection is out of step.
	Answer(buf []byte) (int, error)
}

// Refusal is an answer by which a server says that it did not do what it was
// asked for.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Dialect returns the dialect in which the target is spoken to.
func (t *Target) Dialect() (Dialect, error) {
	switch t.Protocol {
	case Turnlog:
		return NewTurnDialect(t), nil
	case Redis:
		return &listDialect{respFrames{t}}, nil
	case HTTP:
		return newHTTPDialect(t), nil
	}
	return nil, fmt.Errorf("unknown protocol %q", t.Protocol)
}
