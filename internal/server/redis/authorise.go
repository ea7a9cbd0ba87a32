package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// authorise decides whether the connection's user may make a request. It is the
// only place that does, for requests that are queued, too, and knows nothing but
// what is in the table of commands.
func (c *conn) authorise(cmd *command.Command, args [][]byte) command.Error {
	if c.who.all == nil {
		return ""
	}
	c.follow()
	switch {
	case cmd.BeforeAuth:
		return ""
	case c.who.user == nil:
		return command.ErrNoAuth
	}
	return cmd.Permit(c.who.user, c.namespace, args)
}

// guard lets reads that block answer only if the user may still know it by then.
func (c *conn) guard(cmd *command.Command, args [][]byte, a command.Action) command.Action {
	if hears := cmd.Scope == command.ScopeHeard || cmd.Scope == command.ScopeHeardAll; hears && c.who.outdated() {
		c.wire.Stop() // UsersChanged may have come too early to see the subscription
	}
	wait, ok := a.(*command.Wait)
	if !ok || c.who.all == nil || !cmd.Blocks || cmd.Is("write") {
		return a
	}
	still := c.permission(cmd, args)
	return &command.Wait{Linearizable: wait.Linearizable, Run: func(ctx context.Context) (command.Reply, error) {
		r, err := wait.Run(ctx)
		if refusal := still(); refusal != "" {
			return nil, refusal
		}
		return r, err
	}}
}

// permission returns a function that any goroutine may ask whether the connection's
// user may still do what it may do now.
func (c *conn) permission(cmd *command.Command, args [][]byte) func() command.Error {
	if c.who.all == nil {
		return func() command.Error { return "" }
	}
	kept := make([][]byte, len(args))
	for i := range args {
		kept[i] = append([]byte(nil), args[i]...)
	}
	users, login, ns := c.who.all, c.who.login, c.namespace
	return func() command.Error {
		user := users.Current().Find(login)
		if user == nil {
			return command.ErrNoAuth
		}
		return cmd.Permit(user, ns, kept)
	}
}
