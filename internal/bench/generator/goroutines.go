package generator

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// driveGoroutines does what drive does, as an ordinary Go program would: with a
// goroutine for each connection.
func driveGoroutines(ctx context.Context, clients []*Client, conns []net.Conn) error {
	stop := context.AfterFunc(ctx, func() {
		for _, c := range conns {
			c.SetDeadline(time.Unix(1, 0))
		}
	})
	defer stop()
	var all sync.WaitGroup
	var turn sync.Mutex // of what the clients share
	for i, c := range clients {
		all.Go(func() {
			if err := converse(c, conns[i], &turn); err != nil {
				turn.Lock()
				c.Record.Failed(errors.Join(errors.New("a connection was lost"), err))
				turn.Unlock()
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// converse runs one client until it is idle.
func converse(c *Client, conn net.Conn, turn *sync.Mutex) error {
	buf := make([]byte, 16<<10)
	turn.Lock()
	c.begin(time.Now())
	turn.Unlock()
	for !c.idle {
		if len(c.out) > 0 {
			if _, err := conn.Write(c.out); err != nil {
				return err
			}
		}
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		now := time.Now()
		c.in, c.out = append(c.in, buf[:n]...), c.out[:0]
		turn.Lock()
		err = c.received(now)
		turn.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
