package bench

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/turnlog/turnlog/resp"
)

// ask sends one command to a server that speaks RESP and returns its answer.
func ask(ctx context.Context, addr string, args ...string) (resp.Value, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return resp.Value{}, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	w := resp.NewWriter(conn)
	w.Command(args...)
	if err := w.Flush(); err != nil {
		return resp.Value{}, err
	}
	v, err := resp.NewReplyReader(conn, resp.Limits{}).Next()
	if err == nil && v.Kind == resp.SimpleError {
		err = fmt.Errorf("%s: %s: %s", addr, args[0], v.Str)
	}
	return v, err
}
