package httpapi

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// memory bounds the bytes of bodies and answers that all requests hold together, and
// those of one user, or of one address where there are no users.
type memory struct {
	left atomic.Int64
	each int64 // that one may hold

	mu   sync.Mutex
	held map[string]int64 // by whom; who holds nothing is not in it
}

// take reserves n bytes for who, or reports that there are not so many left. A
// negative n gives bytes back.
func (m *memory) take(who string, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && (m.held[who]+n > m.each || m.left.Load() < n) {
		return false
	}
	m.left.Add(-n)
	if m.held[who] += n; m.held[who] == 0 {
		delete(m.held, who)
	}
	return true
}

// who names whose share of the memory the call takes from.
func (c *call) who() string {
	if c.login.Name != "" {
		return "user " + c.login.Name
	}
	host, _, err := net.SplitHostPort(c.request.RemoteAddr)
	if err != nil {
		host = c.request.RemoteAddr
	}
	return "from " + host
}

// hold reserves n bytes, or gives up -n of them, until the call ends.
func (c *call) hold(n int64) error {
	if !c.server.memory.take(c.who(), n) {
		return turn.Errorf(turn.Overloaded, "too many large requests at once; try again")
	}
	c.held += n
	return nil
}

// firstRead is how much of a body is given memory before any of it has come.
const firstRead = 64 << 10

// body reads the request's body, of at most limit bytes. No body is read as {}.
func (c *call) body(limit int) (_ []byte, err error) {
	r := c.request
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, turn.Errorf(turn.Invalid, "Content-Encoding %.32q is not supported", e)
	}
	if r.ContentLength > int64(limit) {
		return nil, c.bodyTooLarge(limit)
	}
	if r.ContentLength != 0 {
		if err := checkType(r); err != nil {
			return nil, err
		}
	}
	// If the deadline of limitBody passed after the body was read, it would look like a
	// client that disconnected. After an error it stays: net/http reads the rest of the
	// body before it sends the response, and must not wait for ever.
	defer func() {
		if err == nil {
			_ = c.out.rc.SetReadDeadline(time.Time{})
		}
	}()

	// Memory is taken for the bytes that have arrived, not for those announced: a client
	// that announces many and sends none must not keep others out.
	buf, err := c.grow(nil, min(max(r.ContentLength, 511), firstRead)+1) // one more, to see the end
	for err == nil {
		var n int
		n, err = r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return nil, c.bodyTooLarge(limit)
		case err == io.EOF && len(buf) == 0:
			return []byte("{}"), nil
		case err == io.EOF:
			return buf, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, turn.Errorf(turn.Invalid, "body: incomplete after %d bytes and %v", len(buf), c.server.cfg.BodyTime)
		case err != nil:
			return nil, turn.Errorf(turn.Invalid, "body: incomplete after %d bytes: %v", len(buf), err)
		case len(buf) == cap(buf):
			more := int64(len(buf))
			if left := r.ContentLength + 1 - more; left > 0 && left < 3*more {
				more = left // a good part is here: take the rest at once
			}
			buf, err = c.grow(buf, more)
		}
	}
	return nil, err
}

// grow returns buf with room for n more bytes.
func (c *call) grow(buf []byte, n int64) ([]byte, error) {
	if err := c.hold(n); err != nil {
		return buf, err
	}
	bigger := make([]byte, len(buf), int64(len(buf))+n)
	copy(bigger, buf)
	return bigger, nil
}

// bodyTooLarge first takes in and drops a good part of what the client is about
// to send: many clients do not look for an answer before they have sent all, and
// would see a broken connection instead of the reason.
func (c *call) bodyTooLarge(limit int) error {
	if c.request.Header.Get("Expect") == "" { // a client that asks before it sends has sent nothing
		_ = c.out.rc.SetReadDeadline(time.Now().Add(dropTime))
		_, _ = io.CopyN(io.Discard, c.request.Body, dropBytes)
	}
	c.out.w.Header().Set("Connection", "close")
	return turn.Errorf(turn.TooLarge, "body: the limit here is %d bytes", limit)
}

const (
	dropBytes = 128 << 20
	dropTime  = 10 * time.Second
)

const smallBody = 1 << 20 // of requests without messages

// appendBody is the limit for requests with messages: base64 takes four bytes
// for three.
func appendBody(l turn.Limits) int { return l.AppendBytes/3*4 + 1<<20 }

func payloadBytes(ms []turn.Message) (n int64) {
	for i := range ms {
		n += int64(len(ms[i].Data))
	}
	return n
}
