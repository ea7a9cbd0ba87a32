package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
)

// receiver is a connection as the hub sees it.
type receiver struct{ c *conn }

func (r receiver) Receive(p replies.Push) bool {
	if !p.Gate && !r.c.mayHear() {
		r.c.wire.Stop()
		return true
	}
	return r.c.replies.Push(p)
}
func (r receiver) Cut() { r.c.wire.Cut() }

// subscribe makes the handler of SUBSCRIBE and PSUBSCRIBE.
func subscribe(kind pubsub.Kind) connHandler {
	return func(c *conn, args [][]byte) command.Action {
		names := command.Names(args[1:])
		if err := c.subs.Reserve(kind, c.namespace, names); err != "" {
			return err
		}
		c.shareReplies()
		if c.who.all != nil && c.subs.Count() == 0 {
			c.hears.Store(&hearing{c.who.set, c.who.user, c.who.login})
		}
		c.subs.Subscribe(kind, c.namespace, names)
		c.noteSubscriptions()
		return command.Gate{}
	}
}

// hearing is as whom a connection subscribed, and the users that this was looked up among.
type hearing struct {
	set   *auth.Set
	user  *auth.User
	login auth.Login
}

// mayHear reports whether the user that made the connection's subscriptions is still what it was. It is asked for each
// message: what is published after the users changed is not for who lost the right to it, however soon the connection
// is closed for that. Any goroutine may ask.
func (c *conn) mayHear() bool {
	h := c.hears.Load()
	if h == nil {
		return true // there are no users
	}
	set := c.srv.cfg.Users.Current()
	if set == h.set {
		return true
	}
	user := set.Find(h.login)
	if !h.user.Same(user) {
		return false
	}
	c.hears.CompareAndSwap(h, &hearing{set, user, h.login})
	return true
}

// unsubscribe makes the handler of UNSUBSCRIBE and PUNSUBSCRIBE.
func unsubscribe(kind pubsub.Kind) connHandler {
	return func(c *conn, args [][]byte) command.Action {
		c.shareReplies()
		c.subs.Unsubscribe(kind, c.namespace, command.Names(args[1:]))
		c.noteSubscriptions()
		return command.Gate{}
	}
}

// shareReplies makes room for pushes among the replies, behind all that has been asked for.
func (c *conn) shareReplies() {
	c.awaitBarrier()
	c.replies.Share()
}

// noteSubscriptions shows others what the connection is subscribed to.
func (c *conn) noteSubscriptions() {
	c.client.SetSubscriptions(c.subs.Counts())
}

// listening reports whether the connection is in the state in which RESP2 clients
// may only change their subscriptions: they could not tell replies from messages.
func (c *conn) listening() bool { return c.subs.Count() > 0 && c.proto == 2 }

// whileListening reports whether a listening connection may do the command.
func whileListening(cmd *command.Command) bool {
	switch cmd.Name {
	case "ping", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "quit", "reset":
		return true
	}
	return false
}

func errListening(name string) command.Error {
	code := "ERR "
	if name == "exec" {
		code = "EXECABORT Transaction discarded because of: "
	}
	return command.Error(code + "Can't execute '" + name +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

func pubsubChannels(c *conn, args [][]byte) command.Action {
	pattern := "*"
	switch len(args) {
	case 2:
	case 3:
		if pattern = string(args[2]); command.LongPattern(pattern) != "" {
			return command.LongPattern(pattern)
		}
	default:
		return command.Error("ERR unknown subcommand or wrong number of arguments for '" +
			command.Clip(string(args[1]), 128) + "'. Try PUBSUB HELP.")
	}
	ns := c.namespace
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		all := c.srv.hub.Names(ctx, ns, pattern)
		return func(w *resp.Writer) { command.WriteNames(w, all) }, nil
	})
}

func pubsubNumPat(c *conn, _ [][]byte) command.Action {
	ns := c.namespace
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		return command.Count(uint64(len(c.srv.hub.Patterns(ctx, ns)))), nil
	})
}

func pubsubNumSub(c *conn, args [][]byte) command.Action {
	ns, channels := c.namespace, command.Names(args[2:])
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		counts := c.srv.hub.Counts(ctx, ns, channels)
		return func(w *resp.Writer) {
			w.Array(2 * len(channels))
			for i, name := range channels {
				w.BulkString(name)
				w.Int(counts[i])
			}
		}, nil
	})
}
