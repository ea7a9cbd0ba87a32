package workload

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

// respAPI sees a session as Redis libraries do: as a list, with nothing but
// RPUSH, LRANGE, LLEN, RPOP and LTRIM. In a session that only grows, and on the
// right, the length of the list tells the seqs; elsewhere calls are marked List.
type respAPI struct {
	addr  string
	entry testcluster.Entry
	conn  *respConn // nil until it is needed, and after an error
}

type respConn struct {
	net.Conn
	w         *resp.Writer
	r         *resp.ReplyReader
	namespace string
}

func (d *respAPI) Close() {
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
}

func (d *respAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	command := listCommand(key.Name, c)
	if command == nil {
		return history.Result{}, unsupported(RESP, c)
	}
	v, err := d.command(ctx, key.Namespace, c.Func.Writes(), command)
	if err != nil {
		return history.Result{}, err
	}
	return listResult(v, c), nil
}

// listCommand is c as a Redis command, nil if there is none.
func listCommand(key string, c *history.Call) []string {
	whole := !c.Latest && c.N == 0 && !c.Stale
	n := strconv.FormatUint(c.N, 10)
	switch {
	case c.Func == history.Publish:
		return []string{"PUBLISH", key, string(payload(c.Values[0]))}
	case c.Func == history.Append && !c.IDs && c.Expect == nil && c.TTL == 0:
		command := []string{"RPUSH", key}
		for _, v := range c.Values {
			command = append(command, string(payload(v)))
		}
		return command
	case c.Func == history.Append && c.Expect == nil && c.TTL == 0:
		command := []string{"TURN.APPEND", key}
		for _, v := range c.Values {
			command = append(command, "MSG", v, string(payload(v)))
		}
		return command
	case c.Func == history.Read && whole && c.Seq == history.TailOnly:
		return []string{"LLEN", key}
	case c.Func == history.Read && whole && c.Seq == 0:
		return []string{"LRANGE", key, "0", "-1"}
	case c.Func == history.Pop && c.List:
		return popCommand(key, n, c)
	case c.Func == history.Trim && c.List:
		return []string{"LTRIM", key, "-" + n, "-1"}
	}
	return nil
}

// blockFor is how long a pop waits for a message, in seconds.
const blockFor = "0.15"

func popCommand(key, n string, c *history.Call) []string {
	name := "RPOP"
	if c.Oldest {
		name = "LPOP"
	}
	if c.Blocks {
		return []string{"B" + name, key, blockFor}
	}
	return []string{name, key, n}
}

func listResult(v resp.Value, c *history.Call) history.Result {
	if c.Func == history.Append && c.IDs {
		return appendResult(v)
	}
	if c.Blocks && len(v.Elems) == 2 {
		v.Elems = v.Elems[1:] // the key comes first
	}
	n, _ := v.Int64()
	r := history.Result{Count: uint64(n)}
	for i := range v.Elems {
		m := history.Message{Value: token(v.Elems[i].Str)}
		if !c.List {
			m.Seq = uint64(i) + 1
		}
		r.Messages = append(r.Messages, m)
	}
	switch {
	case c.Func == history.Pop || c.Func == history.Trim:
		r.Count = 0 // not told
	case len(v.Elems) > 0:
		r.Count = uint64(len(v.Elems))
	}
	if !c.List {
		r.Last = r.Count
		if c.Func == history.Append {
			r.First = r.Last - uint64(len(c.Values)) + 1
		}
	}
	return r
}

// appendResult reads the answer of TURN.APPEND.
func appendResult(v resp.Value) history.Result {
	field := func(name string) uint64 {
		f, _ := v.Field(name)
		n, _ := f.Int64()
		return uint64(n)
	}
	return history.Result{First: field("first_seq"), Last: field("last_seq"), Revision: field("revision"),
		Count: field("count"), Duplicate: field("duplicate") != 0}
}

// command makes one round trip. After an error of the connection, it is unknown
// whether a write was carried out.
func (d *respAPI) command(ctx context.Context, namespace string, writes bool, command []string) (resp.Value, error) {
	v, err := d.roundTrip(ctx, namespace, writes, command)
	if err != nil {
		return v, err
	}
	return v, replyError(v)
}

// roundTrip is command, with error replies for answers.
func (d *respAPI) roundTrip(ctx context.Context, namespace string, writes bool, command []string) (resp.Value, error) {
	if err := d.connect(ctx, namespace); err != nil {
		return resp.Value{}, err
	}
	v, err := d.conn.roundTrip(ctx, command)
	if err != nil {
		d.Close()
		return v, turn.Errorf(lost(writes), "%v", err)
	}
	return v, nil
}

func (d *respAPI) connect(ctx context.Context, namespace string) error {
	if d.conn != nil && d.conn.namespace == namespace {
		return nil
	}
	d.Close()
	c, err := d.dial(ctx)
	if err != nil {
		return turn.Errorf(turn.Unavailable, "%v", err)
	}
	d.conn = &respConn{Conn: c, w: resp.NewWriter(c), r: resp.NewReplyReader(c, resp.Limits{}), namespace: namespace}
	for _, command := range d.greeting(namespace) {
		v, err := d.conn.roundTrip(ctx, command)
		if err == nil {
			err = v.Err()
		}
		if err == nil {
			continue
		}
		d.Close()
		if refused := replyError(v); turn.Is(refused, turn.Unauthorized) || turn.Is(refused, turn.Forbidden) {
			return refused
		}
		return turn.Errorf(turn.Unavailable, "%s: %v", command[0], err)
	}
	return nil
}

func (d *respAPI) dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	if d.entry.TLS == nil {
		return dialer.DialContext(ctx, "tcp", d.addr)
	}
	secured := tls.Dialer{NetDialer: dialer, Config: d.entry.TLS}
	return secured.DialContext(ctx, "tcp", d.addr)
}

// greeting is what a connection says first.
func (d *respAPI) greeting(namespace string) (commands [][]string) {
	if d.entry.User != "" {
		commands = append(commands, []string{"AUTH", d.entry.User, d.entry.Password})
	}
	if _, err := strconv.Atoi(namespace); err == nil {
		return append(commands, []string{"SELECT", namespace})
	}
	return append(commands, []string{"TURN.NS", namespace})
}

func (c *respConn) roundTrip(ctx context.Context, command []string) (resp.Value, error) {
	defer c.limit(ctx)()
	c.w.Command(command...)
	if err := c.w.Flush(); err != nil {
		return resp.Value{}, err
	}
	return c.r.Next()
}

// limit has reads and writes fail when ctx ends, until stop is called.
func (c *respConn) limit(ctx context.Context) (stop func() bool) {
	deadline, _ := ctx.Deadline()
	c.SetDeadline(deadline) // if it fails, so does what comes after
	return context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
}

// pipeline implements pipeliner. When the connection breaks, it is unknown which of the
// calls without an answer were carried out.
func (d *respAPI) pipeline(ctx context.Context, calls []sent, ended func(i int, r history.Result, err error)) {
	err := d.connect(ctx, calls[0].session.Key.Namespace)
	if err != nil {
		for i := range calls {
			ended(i, history.Result{}, err)
		}
		return
	}
	conn := d.conn
	defer conn.limit(ctx)()
	flushed := make(chan struct{})
	go func() { // ends with the connection at the latest
		defer close(flushed)
		for i := range calls {
			conn.w.Command(listCommand(calls[i].session.Key.Name, &calls[i].call)...)
		}
		conn.w.Flush()
	}()
	for i := range calls {
		var v resp.Value
		if err == nil {
			if v, err = conn.r.Next(); err != nil {
				d.Close()
			}
		}
		c := &calls[i].call
		if err != nil {
			ended(i, history.Result{}, turn.Errorf(lost(c.Func.Writes()), "%v", err))
		} else if refused := replyError(v); refused != nil {
			ended(i, history.Result{}, refused)
		} else {
			ended(i, listResult(v, c), nil)
		}
	}
	<-flushed
}

// lost is the kind of error of a call whose connection broke.
func lost(writes bool) turn.Kind {
	if writes {
		return turn.Unknown
	}
	return turn.Unavailable
}

// replyError reads an error reply, and takes it at its word: all but one mean
// that nothing was done, and that is held against the history.
func replyError(v resp.Value) error {
	err := v.Err()
	if err == nil {
		return nil
	}
	code, _, _ := strings.Cut(err.Error(), " ")
	kind, own := turn.ParseKind(code)
	switch {
	case strings.HasPrefix(code, "UNKNOWN"):
		kind = turn.Unknown
	case code == "LOADING":
		kind = turn.Unavailable
	case code == "MISCONF":
		kind = turn.ReadOnly
	case code == "NOAUTH", code == "WRONGPASS":
		kind = turn.Unauthorized
	case code == "NOPERM":
		kind = turn.Forbidden
	case code == "EXECABORT": // users were read again, by which what is queued was not allowed
		kind = turn.Unavailable
	case !own:
		kind = turn.Internal
	}
	return &answered{turn.Errorf(kind, "%v", err)}
}
