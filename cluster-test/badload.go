package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/resp"
)

const (
	idleConnections = 10_000
	slowReaders     = 20
	slowRequests    = 400 // by each, of answers of slowAnswer bytes
	slowMessages    = 4
	slowMessage     = mib
)

// loadCases are clients that do nothing wrong but in their number or pace.
func loadCases() []badCase {
	return []badCase{
		{fmt.Sprintf("%d idle connections", idleConnections), idle},
		{fmt.Sprintf("%d readers that do not read", slowReaders), slowReader},
	}
}

// idle opens connections that send nothing. The node may turn some away, and
// goes on serving the one that speaks.
func idle(ctx context.Context, n *cluster.Node) error {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	dialer := net.Dialer{Timeout: 2 * time.Second}
	for len(open) < idleConnections {
		c, err := dialer.DialContext(ctx, "tcp", n.RESPAddr)
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(open)+1, err)
		}
		open = append(open, c)
	}
	return ping(ctx, open[len(open)-1], open[0])
}

// ping requires one of the connections to be served.
func ping(ctx context.Context, conns ...net.Conn) error {
	var err error
	for _, c := range conns {
		deadline, _ := ctx.Deadline()
		c.SetDeadline(deadline)
		if _, err = io.WriteString(c, "PING\r\n"); err != nil {
			continue
		}
		var v resp.Value
		if v, err = resp.NewReplyReader(c, resp.Limits{}).Next(); err == nil && v.Text() == "PONG" {
			return nil
		}
	}
	return fmt.Errorf("no idle connection is served: %v", err)
}

// slowReader asks for more than a node could keep, and takes nothing.
func slowReader(ctx context.Context, n *cluster.Node) error {
	deadline, _ := ctx.Deadline()
	feed, err := net.Dial("tcp", n.RESPAddr)
	if err != nil {
		return err
	}
	defer feed.Close()
	feed.SetDeadline(deadline)
	w, in := resp.NewWriter(feed), resp.NewReplyReader(feed, resp.Limits{})
	for range slowMessages {
		w.Command("RPUSH", "large", strings.Repeat("x", slowMessage))
		if err := w.Flush(); err != nil {
			return err
		}
		if v, err := in.Next(); err != nil || v.Err() != nil {
			return fmt.Errorf("RPUSH: %v %v", v.Err(), err)
		}
	}
	for range slowReaders {
		c, err := net.Dial("tcp", n.RESPAddr)
		if err != nil {
			return err
		}
		defer c.Close()
		// Writing may block as well: the node stops taking requests.
		c.SetWriteDeadline(time.Now().Add(2 * time.Second))
		io.WriteString(c, strings.Repeat("LRANGE large 0 -1\r\n", slowRequests))
	}
	return ping(ctx, feed)
}
