package command

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// role says that this node takes writes, which any node does.
func role(*Request, [][]byte) Action {
	return Reply(func(w *resp.Writer) {
		w.Array(3)
		w.BulkString("master")
		w.Int(0)
		w.Array(0)
	})
}

// serverTime is the node's wall clock. Deadlines are kept in cluster time, which
// follows the leader's.
func serverTime(req *Request, _ [][]byte) Action {
	return Reply(func(w *resp.Writer) {
		now := req.Backend.now()
		w.Array(2)
		w.BulkString(strconv.FormatInt(now.Unix(), 10))
		w.BulkString(strconv.Itoa(now.Nanosecond() / 1000))
	})
}

func dbSize(req *Request, _ [][]byte) Action {
	return &Read{Queries: []turn.Query{&turn.Count{Namespace: req.Namespace}},
		Answer: func(os []Outcome) (Reply, error) {
			return Count(os[0].Count), os[0].Err
		}}
}

func moduleList(*Request, [][]byte) Action {
	return Reply(func(w *resp.Writer) { w.Array(0) })
}

func noCluster(*Request, [][]byte) Action { return errNoCluster }

// waitPoll is how often WAIT looks at the other nodes.
const waitPoll = 20 * time.Millisecond

// waitReplicas is WAIT: how many other nodes have the connection's last write on
// disk. A write that was acknowledged is on a majority.
func waitReplicas(req *Request, args [][]byte) Action {
	want, ok := ParseInt(args[1])
	if !ok {
		return ErrNotInteger
	}
	timeout, err := parseWait(args[2])
	if err != "" {
		return err
	}
	return req.awaitCopies(false, want, timeout, func(_ bool, others int64) Reply {
		return func(w *resp.Writer) { w.Int(others) }
	})
}

// waitAOF is WAITAOF, whose first number asks for this node's own disk.
func waitAOF(req *Request, args [][]byte) Action {
	local, ok := ParseInt(args[1])
	if !ok || local < 0 || local > 1 {
		return Error("ERR value is out of range, value must between 0 and 1")
	}
	want, ok := ParseInt(args[2])
	if !ok || want < 0 {
		return errNotPositive
	}
	timeout, err := parseWait(args[3])
	if err != "" {
		return err
	}
	return req.awaitCopies(local == 1, want, timeout, func(own bool, others int64) Reply {
		return func(w *resp.Writer) {
			w.Array(2)
			w.Int(map[bool]int64{true: 1}[own])
			w.Int(others)
		}
	})
}

// parseWait reads a time in milliseconds, at most maxBlock; 0: that.
func parseWait(arg []byte) (time.Duration, Error) {
	ms, ok := ParseInt(arg)
	switch {
	case !ok:
		return 0, "ERR timeout is not an integer or out of range"
	case ms < 0:
		return 0, "ERR timeout is negative"
	case ms == 0 || ms > maxBlock.Milliseconds():
		return maxBlock, ""
	}
	return time.Duration(ms) * time.Millisecond, ""
}

// awaitCopies waits until this node, if that is asked for, and enough others have
// all that the connection has written on disk, or for the timeout; then it answers.
func (req *Request) awaitCopies(own bool, others int64, timeout time.Duration,
	answer func(own bool, others int64) Reply) Action {
	return &Wait{Run: func(ctx context.Context) (Reply, error) {
		until := req.Backend.now().Add(timeout)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		for {
			have, n := req.Backend.engine.Copies(ctx, req.Client.LastWrite(), int(min(others, math.MaxInt32)))
			left := until.Sub(req.Backend.now())
			if req.Client.HasLeft() {
				return nil, ErrLeft
			}
			if (have || !own) && int64(n) >= others || left <= 0 || req.Client.Gone().Err() != nil {
				return answer(have, int64(n)), nil
			}
			if err := req.Client.WaitAtMost(nil, min(left, waitPoll), &until); err != nil {
				return nil, err
			}
		}
	}}
}
