package httpapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/turn"
)

// connKey is the key of a request's *boundedConn in its context.
type connKey struct{}

// noteConn lets requests know their connection.
func noteConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, boundedOf(conn))
}

// known notes that u has authenticated over the request's connection, which ends if
// there are too many and u is no administrator.
func (c *call) known(u *auth.User) error {
	conn, ok := c.ctx.Value(connKey{}).(*boundedConn)
	if !ok || conn == nil || conn.know(u.May(auth.Admin)) {
		return nil
	}
	c.out.w.Header().Set("Connection", "close")
	return turn.Errorf(turn.Overloaded, "too many connections; the remaining ones are reserved for admins")
}

// headRead notes that what comes next is no head.
func (c *call) headRead() {
	if conn, ok := c.ctx.Value(connKey{}).(*boundedConn); ok && conn != nil {
		conn.head.past.Store(true)
	}
}

// leaveBody has the response sent before the rest of a body that is not wanted, which
// has little time to arrive then, and the connection closed.
func leaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lateBodyTime))
	}
}

const lateBodyTime = time.Second

// limitBody limits the time that a client takes to begin a body, or to send one that is
// dropped after the response. That of a body which is read is bounded by bodyReader.
func (c *call) limitBody() {
	if c.request.ContentLength != 0 {
		_ = c.out.rc.SetReadDeadline(time.Now().Add(c.server.cfg.BodyTime))
	}
}
