package client

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/resp"
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
	background sync.WaitGroup // goroutines that follow the leader
}

// New returns a Client. It connects to nothing yet.
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

// Close ends every connection. Calls that wait for an answer fail.
func (c *Client) Close() error {
	c.cancel()
	c.router.close()
	c.background.Wait()
	return nil
}

// Cluster returns the cluster as the node that answers sees it.
func (c *Client) Cluster(ctx context.Context) (turn.Cluster, error) {
	v, err := c.do(ctx, newRequest(vCluster))
	if err != nil {
		return turn.Cluster{}, err
	}
	return decodeCluster(v)
}

func decodeCluster(v resp.Value) (turn.Cluster, error) {
	var cl turn.Cluster
	if err := json.Unmarshal(v.Str, &cl); err != nil {
		return cl, malformed(err.Error())
	}
	return cl, nil
}

// followLeader asks who leads when it is time to, in the background: requests
// go on to the node that is known meanwhile.
func (c *Client) followLeader() {
	if c.ctx.Err() != nil || !c.router.askLeader() {
		return
	}
	c.background.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.cfg.DialTimeout)
		defer cancel()
		n := c.router.pick()
		conn, err := n.get(ctx)
		if err != nil {
			return
		}
		v, err := conn.roundTrip(ctx, n, newRequest(vCluster))
		if err != nil {
			return
		}
		if cl, err := decodeCluster(v); err == nil {
			leader, addrs := respAddrs(cl)
			c.router.learn(leader, addrs)
		}
	})
}

func respAddrs(cl turn.Cluster) (leader string, all []string) {
	for _, n := range cl.Nodes {
		if n.RESPAddr == "" {
			continue
		}
		all = append(all, n.RESPAddr)
		if n.ID == cl.Leader {
			leader = n.RESPAddr
		}
	}
	return leader, all
}

// onOwnConnection runs f with a connection that nobody shares, for requests that
// take their time. Patience 0: only ctx bounds it.
func (c *Client) onOwnConnection(ctx context.Context, n *node, patience time.Duration, f func(*conn) error) error {
	own, err := n.dial(ctx, patience)
	if err != nil {
		return dialError(n, err)
	}
	defer own.close(errClosed)
	stop := context.AfterFunc(c.ctx, func() { own.close(errClosed) })
	defer stop()
	return f(own)
}

// Erase deletes every session of the namespace whose key begins with prefix
// (all, if it is empty) and returns how many there were. It is not atomic: a
// session created meanwhile may stay.
func (c *Client) Erase(ctx context.Context, prefix string) (uint64, error) {
	attempt := func(ctx context.Context, n *node, r *request) (v resp.Value, err error) {
		err = c.onOwnConnection(ctx, n, 0, func(own *conn) error {
			v, err = own.roundTrip(ctx, n, r)
			return err
		})
		return v, err
	}
	v, err := c.retry(ctx, newRequest(vErase).strings("PREFIX", prefix), attempt)
	if err != nil {
		return 0, err
	}
	return decodeRemoved(v)
}

func malformed(what string) *turn.Error {
	return turn.Errorf(turn.Internal, "the server's answer cannot be read: %s", what)
}

// Sessions yields every session of the namespace whose key begins with prefix,
// in key order. Sessions that come or go meanwhile may be missed or seen. An
// error is the last thing yielded.
func (c *Client) Sessions(ctx context.Context, prefix string) iter.Seq2[turn.Session, error] {
	return func(yield func(turn.Session, error) bool) {
		for cursor := ""; ; {
			page, next, err := c.SessionsPage(ctx, prefix, cursor, 1000)
			if err != nil {
				yield(turn.Session{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// SessionsPage returns up to limit sessions after cursor (empty: from the
// start), and the cursor of the next page, empty after the last.
func (c *Client) SessionsPage(ctx context.Context, prefix, cursor string, limit int) ([]turn.Session, string, error) {
	r := newRequest(vList)
	if prefix != "" {
		r.strings("PREFIX", prefix)
	}
	if cursor != "" {
		r.strings("CURSOR", cursor)
	}
	v, err := c.do(ctx, r.strings("LIMIT").int(int64(limit)))
	if err != nil {
		return nil, "", err
	}
	return c.decodeSessions(v)
}
