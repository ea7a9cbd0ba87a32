package bench

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
)

// commands is a connection for single commands to a server that speaks RESP. It is
// closed when the context ends under which it was made.
type commands struct {
	net.Conn
	w       *resp.Writer
	r       *resp.ReplyReader
	release func() bool
}

func dialCommands(ctx context.Context, addr string) (*commands, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { conn.Close() })
	return &commands{conn, resp.NewWriter(conn), resp.NewReplyReader(conn, resp.Limits{}), release}, nil
}

func (c *commands) Close() error {
	c.release()
	return c.Conn.Close()
}

// ask sends a command and returns its answer, however long that takes.
func (c *commands) ask(args ...string) (resp.Value, error) {
	c.w.Command(args...)
	if err := c.w.Flush(); err != nil {
		return resp.Value{}, err
	}
	v, err := c.r.Next()
	if err == nil && v.Kind == resp.SimpleError {
		err = fmt.Errorf("%s: %s: %s", c.RemoteAddr(), args[0], v.Str)
	}
	return v, err
}

// ask sends one command over a connection of its own, and waits ten seconds for
// the answer.
func ask(ctx context.Context, addr string, args ...string) (resp.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := dialCommands(ctx, addr)
	if err != nil {
		return resp.Value{}, err
	}
	defer conn.Close()
	return conn.ask(args...)
}
