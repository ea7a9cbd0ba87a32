package redis

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

// role says that this node takes writes, which any node does.
func role(*conn, [][]byte) action {
	return say(func(w *resp.Writer) {
		w.Array(3)
		w.BulkString("master")
		w.Int(0)
		w.Array(0)
	})
}

// serverTime is the node's wall clock. Deadlines are kept in cluster time, which
// follows the leader's.
func serverTime(c *conn, _ [][]byte) action {
	return say(func(w *resp.Writer) {
		now := c.srv.cfg.Now()
		w.Array(2)
		w.BulkString(strconv.FormatInt(now.Unix(), 10))
		w.BulkString(strconv.Itoa(now.Nanosecond() / 1000))
	})
}

func dbSize(c *conn, _ [][]byte) action {
	return action{queries: []turn.Query{&turn.Count{Namespace: c.namespace}}, answer: func(os []outcome) (reply, error) {
		return sayInt(os[0].Count), os[0].err
	}}
}

func moduleList(*conn, [][]byte) action {
	return say(func(w *resp.Writer) { w.Array(0) })
}

func noCluster(*conn, [][]byte) action { return refuse(errNoCluster) }

// waitPoll is how often WAIT looks at the other nodes.
const waitPoll = 20 * time.Millisecond

// waitReplicas is WAIT: how many other nodes have the connection's last write on
// disk. A write that was acknowledged is on a majority.
func waitReplicas(c *conn, args [][]byte) action {
	want, ok := parseInt(args[1])
	if !ok {
		return refuse(errNotInteger)
	}
	timeout, ok := parseInt(args[2])
	if !ok {
		return refuse("ERR timeout is not an integer or out of range")
	}
	if timeout < 0 {
		return refuse("ERR timeout is negative")
	}
	if timeout == 0 || timeout > maxBlock.Milliseconds() {
		timeout = maxBlock.Milliseconds()
	}
	last := c.lastWrite
	return alone(func(ctx context.Context) (reply, error) {
		index := uint64(0)
		if last != nil {
			r, err := last.Wait()
			if err == nil {
				index = r.Index
			}
		}
		until := c.srv.cfg.Now().Add(time.Duration(timeout) * time.Millisecond)
		for {
			cluster, err := c.srv.engine.Cluster(ctx)
			if err != nil {
				return nil, err
			}
			n := replicas(cluster, index)
			left := until.Sub(c.srv.cfg.Now())
			if n >= want || left <= 0 || c.gone.Err() != nil {
				return func(w *resp.Writer) { w.Int(n) }, nil
			}
			wait(c.gone, nil, min(left, waitPoll))
		}
	})
}

// replicas counts the nodes that hold the log up to index, but for one.
func replicas(cl turn.Cluster, index uint64) int64 {
	n := int64(-1)
	for _, node := range cl.Nodes {
		if node.Reachable && node.Match >= index {
			n++
		}
	}
	return max(0, min(n, math.MaxInt32))
}
