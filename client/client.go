package client

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/turn"
)

// Client talks to a cluster, within one namespace. Connections are opened when
// they are needed and kept until Close.
type Client struct {
	cfg      Config
	router   *router
	inFlight *semaphore.Weighted
	limits   turn.Limits // none: the server's are its own affair

	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
	closing    sync.Mutex     // between ending ctx and starting what it ends
	background sync.WaitGroup // the goroutine that asks who leads
}

// ErrClosed is wrapped by the errors of calls that Close ended, and of calls after Close. If an error of
// Config.Dial wraps it, as that of an embedded node that has stopped, the call is not tried again.
var ErrClosed = errors.New("the client is closed")

// New returns a Client, which connects when it is first used. An error is of kind turn.Invalid, and
// says what is wrong with cfg.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, inFlight: semaphore.NewWeighted(cfg.MaxInFlightBytes), limits: unlimited()}
	c.router = newRouter(&c.cfg)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

func unlimited() turn.Limits {
	const most = math.MaxInt
	return turn.Limits{MessageBytes: most, AppendBytes: most, AppendMessages: most, KeyBytes: most, IDBytes: most,
		MetaBytes: most, ReadBytes: most, ForkMessages: most, ForkBytes: most}
}

// Close ends every connection. Calls that wait for an answer fail, and so do later ones; their errors
// wrap ErrClosed.
func (c *Client) Close() error {
	c.closing.Lock()
	c.cancel()
	c.closing.Unlock()
	c.router.close()
	c.background.Wait()
	return nil
}

// onOwnConnection runs f with a connection that no other request shares, for requests that
// take their time. StallTimeout 0: only ctx bounds it.
func (c *Client) onOwnConnection(ctx context.Context, n *node, stallTimeout time.Duration, f func(*conn) error) error {
	if c.ctx.Err() != nil {
		return dialError(ctx, n, ErrClosed)
	}
	own, err := n.dial(ctx, stallTimeout)
	if err != nil {
		return dialError(ctx, n, err)
	}
	defer own.close(ErrClosed)
	stop := context.AfterFunc(c.ctx, func() { own.close(ErrClosed) })
	defer stop()
	return f(own)
}
