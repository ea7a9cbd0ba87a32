package workload

import (
	"context"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/history"
	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

// respDoor sees a session as Redis libraries do: as a list, with nothing but
// RPUSH, LRANGE and LLEN. In a session that only grows, and on the right, the
// length of the list tells the seqs.
type respDoor struct {
	addr string
	conn *respConn // nil until it is needed, and after an error
}

type respConn struct {
	net.Conn
	w         *resp.Writer
	r         *resp.ReplyReader
	namespace string
}

// tailOnly asks a read for nothing but the end of the session.
const tailOnly = math.MaxUint32

func (d *respDoor) Close() {
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
}

func (d *respDoor) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	var command []string
	switch {
	case c.Func == history.Append && !c.IDs && c.Expect == nil && c.TTL == 0:
		command = append(command, "RPUSH", key.Name)
		for _, v := range c.Values {
			command = append(command, string(payload(v)))
		}
	case c.Func == history.Read && c.Seq == tailOnly:
		command = []string{"LLEN", key.Name}
	case c.Func == history.Read && !c.Latest && c.Seq == 0 && c.N == 0 && !c.Stale:
		command = []string{"LRANGE", key.Name, "0", "-1"}
	default:
		return history.Result{}, unsupported(RESP, c)
	}
	v, err := d.command(ctx, key.Namespace, c.Func.Writes(), command)
	if err != nil {
		return history.Result{}, err
	}
	n, _ := v.Int64()
	length := uint64(n)
	if c.Func == history.Append {
		return history.Result{First: length - uint64(len(c.Values)) + 1, Last: length, Count: length}, nil
	}
	r := history.Result{}
	for i := range v.Elems {
		length = uint64(i) + 1
		r.Messages = append(r.Messages, history.Message{Seq: length, Value: token(v.Elems[i].Str)})
	}
	r.Last, r.Count = length, length
	return r, nil
}

// command makes one round trip. After an error of the connection, nobody knows
// whether a write was carried out.
func (d *respDoor) command(ctx context.Context, namespace string, writes bool, command []string) (resp.Value, error) {
	if err := d.connect(ctx, namespace); err != nil {
		return resp.Value{}, err
	}
	v, err := d.conn.roundTrip(ctx, command)
	if err != nil {
		d.Close()
		kind := turn.Unavailable
		if writes {
			kind = turn.Unknown
		}
		return v, turn.Errorf(kind, "%v", err)
	}
	return v, replyError(v)
}

func (d *respDoor) connect(ctx context.Context, namespace string) error {
	if d.conn != nil && d.conn.namespace == namespace {
		return nil
	}
	d.Close()
	dialer := net.Dialer{Timeout: 2 * time.Second}
	c, err := dialer.DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return turn.Errorf(turn.Unavailable, "%v", err)
	}
	d.conn = &respConn{Conn: c, w: resp.NewWriter(c), r: resp.NewReplyReader(c, resp.Limits{}), namespace: namespace}
	selection := []string{"TURN.NS", namespace}
	if _, err := strconv.Atoi(namespace); err == nil {
		selection = []string{"SELECT", namespace}
	}
	v, err := d.conn.roundTrip(ctx, selection)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		d.Close()
		return turn.Errorf(turn.Unavailable, "%s: %v", selection[0], err)
	}
	return nil
}

func (c *respConn) roundTrip(ctx context.Context, command []string) (resp.Value, error) {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return resp.Value{}, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.w.Command(command...)
	if err := c.w.Flush(); err != nil {
		return resp.Value{}, err
	}
	return c.r.Next()
}

// replyError reads an error reply, and takes it at its word: all but one mean
// that nothing was done, and that is held against the history.
func replyError(v resp.Value) error {
	err := v.Err()
	if err == nil {
		return nil
	}
	code, _, _ := strings.Cut(err.Error(), " ")
	switch {
	case strings.HasPrefix(code, "UNKNOWN"):
		return turn.Errorf(turn.Unknown, "%v", err)
	case code == "LOADING":
		return turn.Errorf(turn.Unavailable, "%v", err)
	}
	return turn.Errorf(turn.Internal, "%v", err)
}
