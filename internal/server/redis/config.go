package redis

import (
	"cmp"
	"log/slog"
	"net"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/server/redis/idpath"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// Config configures a Server. Engine and one of the listeners must be set; the zero value of
// any other field means its default.
type Config struct {
	// Listener accepts the connections of clients. Run closes it.
	Listener net.Listener
	// Local accepts connections of this process: they need no authentication, may do anything,
	// and are not counted among those of clients, which cannot keep them out. Run closes it.
	Local  net.Listener
	Engine Engine
	Logger *slog.Logger     // slog.Default()
	Now    func() time.Time // time.Now
	// SlowRequest is from when on a request is logged that took long; 0: none is.
	SlowRequest time.Duration
	Tracer      *trace.Tracer // of requests; nil: none is traced

	// Users are those who may connect, and what they may do; nil: anybody may do
	// anything.
	Users *auth.Users

	// Version is turnlog's own version, for INFO.
	Version string
	// NodeID is this node's name, for INFO.
	NodeID string

	// IDPaths says where elements carry ids by which a push that was sent again is
	// recognised; nil: nowhere. It must be the same at all nodes.
	IDPaths idpath.Paths

	// MaxClients is how many connections may be open at once: 10,000. A further
	// one is told so and closed.
	MaxClients int
	// Descriptors bounds them further; nil: it does not.
	Descriptors *descriptors.Pool
	// MaxRequestBytes is the length of a request that is kept; a longer one is
	// refused without losing the connection. By default, what the engine's
	// limits allow for an append.
	MaxRequestBytes int
	// ReceiveBytes bounds the memory of all large requests being received
	// together, and of what connections keep between requests: 256 MiB. One user, or
	// one address where there are no Users, has three quarters of it at most; connections
	// that have yet to authenticate have another sixteenth, and those of one address a quarter
	// of that. Beyond it, requests of more than 16 KiB are refused as OVERLOADED.
	ReceiveBytes int64
	// PipelineRequests and PipelineBytes bound the requests of one connection
	// that are read ahead of their replies: 1,024 and 16 MiB.
	PipelineRequests int
	PipelineBytes    int
	// PushBytes bounds the published messages that wait for one subscriber: 32 MiB.
	// Beyond it, its connection is closed. PushBytesAll bounds the memory of those
	// that wait for all subscribers together: 256 MiB. Beyond it, the connections are
	// closed for which more than 1 MiB waits.
	PushBytes    int
	PushBytesAll int64
	// ReplyBytes bounds the memory of all replies that are made and not written yet: 256 MiB. One user, or one
	// address where there are no Users, has three quarters of it at most. Beyond it, a request waits for ReplyWait,
	// 2.5 s, and is then rejected as OVERLOADED.
	ReplyBytes int64
	ReplyWait  time.Duration
	// WriteTimeout is how long a client may leave replies unread before its
	// connection is closed: 30 s without accepting any bytes.
	WriteTimeout time.Duration
	// ReadTimeout is how long a client may pause within a request, or be slower than
	// 8 KiB/s: 30 s. Where there are Users, it is also the time in which a connection has
	// to authenticate. Between requests, a user's may be silent for ever.
	ReadTimeout time.Duration
	// DeadPeerTimeout is how long a client's machine may answer nothing, not even
	// probes, before its connection is closed: 2 min. It is counted in seconds.
	DeadPeerTimeout time.Duration
	// ShutdownTimeout is how long Run waits for what is in flight when its
	// context ends: 10 s.
	ShutdownTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	limits := c.Engine.Limits()
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Version = cmp.Or(c.Version, "dev")
	c.MaxClients = cmp.Or(c.MaxClients, 10_000)
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, largestRequest(limits))
	c.ReceiveBytes = cmp.Or(c.ReceiveBytes, 256<<20)
	c.PipelineRequests = cmp.Or(c.PipelineRequests, 1024)
	c.PipelineBytes = cmp.Or(c.PipelineBytes, 16<<20)
	c.PushBytes = cmp.Or(c.PushBytes, 32<<20)
	c.PushBytesAll = cmp.Or(c.PushBytesAll, 256<<20)
	c.ReplyBytes = cmp.Or(c.ReplyBytes, 256<<20)
	c.ReplyWait = cmp.Or(c.ReplyWait, 2500*time.Millisecond)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 30*time.Second)
	c.DeadPeerTimeout = cmp.Or(c.DeadPeerTimeout, 2*time.Minute)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 10*time.Second)
	return c
}

// largestRequest is the length of the largest append, with what is around
// each message in a request: id, words, lengths.
func largestRequest(l turn.Limits) int {
	return l.AppendBytes + l.AppendMessages*(l.IDBytes+256) + l.KeyBytes + 64<<10
}
