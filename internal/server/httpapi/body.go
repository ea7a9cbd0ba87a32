package httpapi

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/turnlog/turnlog/internal/minrate"
	"github.com/turnlog/turnlog/turn"
)

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
	// If the deadline passed after the body was read, it would look like a client that
	// disconnected. After an error it stays: net/http reads the rest of the body before it
	// sends the response, and must not wait for ever.
	defer func() {
		if err == nil {
			_ = c.out.rc.SetReadDeadline(time.Time{})
		}
	}()

	// Memory is taken for the bytes that have arrived, not for those announced: a client
	// that announces many and sends none must not keep others out.
	buf, err := c.grow(nil, min(max(r.ContentLength, 511), firstRead)+1) // one more, to see the end
	in := bodyReader{c, minrate.Begin(time.Now(), c.server.cfg.BodyTime)}
	for err == nil {
		var n int
		n, err = in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return nil, c.bodyTooLarge(limit)
		case err == io.EOF && len(buf) == 0:
			return []byte("{}"), nil
		case err == io.EOF:
			return buf, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, turn.Errorf(turn.Invalid, "body: incomplete after %d bytes: slower than %d KiB/s for %v",
				len(buf), minrate.BytesPerSecond>>10, c.server.cfg.BodyTime)
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

// bodyReader reads a request's body, which must not arrive too slowly.
type bodyReader struct {
	c        *call
	deadline minrate.Deadline
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.c.request.Body.Read(p)
	if err == nil { // there is more to come
		_ = r.c.out.rc.SetReadDeadline(r.deadline.Next(time.Now(), n))
	}
	return n, err
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
