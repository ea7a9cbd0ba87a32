package redis

import (
	"errors"
	"os"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

// next handles one request. It reports whether another may follow.
func (c *conn) next() bool {
	c.wire.Between()
	if !c.wire.Outlast(c.in.Fill) {
		return false
	}
	if err := c.in.WaitInput(); err != nil {
		return false
	}
	c.wire.Begin()
	args, err := c.in.Next()
	var tooLong *resp.RequestError
	var protocol resp.ProtocolError
	switch {
	case err == nil:
		return c.handle(args)
	case errors.As(err, &tooLong):
		c.tx.Spoil()
		return c.execute(nil, oversized(tooLong), 0)
	case errors.As(err, &protocol):
		c.srv.log.Debug("redis: closing connection", "client", c.wire.Remote(), "error", err)
		c.execute(nil, c.broken(protocol), 0)
		c.wire.Abort()
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.wire.Stopping():
		c.wire.LogPaused()
	}
	return false
}

// broken is what a client hears whose request cannot be read. Since a user who was removed
// may still send large requests, these are refused as small ones are.
func (c *conn) broken(e resp.ProtocolError) command.Error {
	tooMuch := e == resp.ErrArrayUnauthenticated || e == resp.ErrBulkUnauthenticated
	if tooMuch && c.who.login.Name != "" {
		return command.ErrNoAuth
	}
	return command.Error("ERR " + e.Error())
}

func oversized(e *resp.RequestError) command.Error {
	kind := turn.TooLarge
	if e.Limit == 0 {
		kind = turn.Overloaded
	}
	return command.Error(kind.String() + " " + e.Error() + "; nothing was changed")
}

// handle takes a request its way: it looks the command up, authorises it, decides whether
// and when it is handled, and performs the action that its handler makes of it. It reports
// whether another request may follow.
func (c *conn) handle(args [][]byte) (more bool) {
	bytes := c.in.Bytes() // before a handler takes the payloads away
	cmd, refusal := c.srv.table.Find(args)
	if cmd == nil && speaksHTTP(args) {
		c.wire.LogHTTP()
		return false
	}
	if refusal == "" {
		refusal = c.authorise(cmd, args)
	}
	if refusal == "" {
		refusal = c.checkKeys(cmd, args)
	}
	a := c.decide(cmd, args, refusal, bytes)
	c.touch(cmd, a)
	return c.execute(cmd, a, bytes)
}

// speaksHTTP recognises a web page that made a browser talk to this port: nothing that it
// sends is meant.
func speaksHTTP(args [][]byte) bool {
	return command.Is(args[0], "POST") || command.Is(args[0], "Host:")
}

// decide makes an action of a request: it is queued, refused or handled now.
func (c *conn) decide(cmd *command.Command, args [][]byte, refusal command.Error, bytes int) command.Action {
	switch {
	case c.tx.Open() && (cmd == nil || !transaction.Passes(cmd)):
		return c.tx.Enqueue(cmd, refusal, bytes, func() command.Action { return c.dispatch(cmd, args) })
	case refusal != "":
		c.tx.Spoil()
		return refusal
	case c.listening() && !whileListening(cmd):
		return errListening(cmd.Name)
	}
	return c.guard(cmd, args, c.dispatch(cmd, args))
}

// maxBlockingKeys is how many keys a request can wait for.
const maxBlockingKeys = 1000

// touch notes for CLIENT LIST that a request was received. A command that waits is shown
// when it does, or has ended.
func (c *conn) touch(cmd *command.Command, a command.Action) {
	_, waits := a.(*command.Wait)
	name := ""
	if cmd != nil && !waits {
		name = cmd.Name
	}
	c.client.Received(c.srv.cfg.Now(), name)
}
