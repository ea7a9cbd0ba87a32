package redis

import (
	"strconv"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// redisVersion is the version of Redis whose behaviour clients may expect. Some
// choose commands by it.
const redisVersion = "7.2.4"

// defaultUser is the user that AUTH means when it names none, and that every
// connection is where no users are configured.
const defaultUser = "default"

func hello(c *conn, args [][]byte) command.Action {
	proto := int64(c.proto)
	if len(args) > 1 {
		n, ok := command.ParseInt(args[1])
		if !ok {
			return command.Error("ERR Protocol version is not an integer or out of range")
		}
		if n < 2 || n > 3 {
			return errNoProto
		}
		proto = n
	}
	name, named := "", false
	for i := 2; i < len(args); i++ {
		switch {
		case command.Is(args[i], "AUTH") && i+2 < len(args):
			if err := c.logIn(args[i+1], args[i+2]); err != "" {
				return err
			}
			i += 2
		case command.Is(args[i], "SETNAME") && i+1 < len(args):
			name, named = string(args[i+1]), true
			if !validName(name) {
				return errClientName
			}
			i++
		default:
			return command.Error("ERR Syntax error in HELLO option '" + command.Clip(string(args[i]), 128) + "'")
		}
	}
	if c.who.unauthenticated() {
		return errNoAuthHello
	}
	if named {
		c.client.SetName(name)
	}
	c.setProtocol(int(proto))
	return command.Reply(func(w *resp.Writer) {
		w.Map(7)
		w.BulkString("server")
		w.BulkString("redis")
		w.BulkString("version")
		w.BulkString(redisVersion)
		w.BulkString("proto")
		w.Int(proto)
		w.BulkString("id")
		w.Int(int64(c.client.ID))
		w.BulkString("mode")
		w.BulkString("standalone")
		w.BulkString("role")
		w.BulkString("master")
		w.BulkString("modules")
		w.Array(0)
	})
}

// setProtocol changes the protocol from the next reply on.
func (c *conn) setProtocol(version int) {
	if version < 3 {
		c.tails.stopAll()
	}
	c.replies.Settle()
	c.replies.WithWriter(func(w *resp.Writer) { w.SetProtocol(version) })
	c.proto = version
	c.client.SetProtocol(version)
}

// validName reports whether s consists of printable characters without spaces.
func validName(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// auth is AUTH [username] password.
func authenticate(c *conn, args [][]byte) command.Action {
	name, password := []byte(defaultUser), args[len(args)-1]
	switch {
	case len(args) > 3:
		return command.ErrSyntax
	case len(args) == 3:
		name = args[1]
	case c.who.all == nil:
		return errNoPassword
	}
	if err := c.logIn(name, password); err != "" {
		return err
	}
	return command.Status("OK")
}

func selectDB(c *conn, args [][]byte) command.Action {
	n, ok := command.ParseInt(args[1])
	switch {
	case !ok:
		return command.ErrNotInteger
	case n != int64(int32(n)):
		return errNotInt32
	case n < 0 || n >= command.Databases:
		return errDBRange
	}
	c.enter(strconv.FormatInt(n, 10))
	return command.Status("OK")
}

// namespace is TURN.NS: SELECT for a namespace of any name.
func namespace(c *conn, args [][]byte) command.Action {
	if len(args) == 1 {
		return command.Text(c.namespace)
	}
	ns := string(args[1])
	if err := (&turn.Count{Namespace: ns}).Validate(c.srv.engine.Limits()); err != nil {
		return command.Error(command.ErrorText(err, true))
	}
	c.enter(ns)
	return command.Status("OK")
}

func ping(c *conn, args [][]byte) command.Action {
	if c.listening() && len(args) <= 2 {
		message := ""
		if len(args) == 2 {
			message = string(args[1])
		}
		return command.Reply(func(w *resp.Writer) {
			w.Array(2)
			w.BulkString("pong")
			w.BulkString(message)
		})
	}
	switch len(args) {
	case 1:
		return command.Status("PONG")
	case 2:
		return command.Text(string(args[1]))
	}
	return command.ErrArity("ping")
}

func echo(_ *conn, args [][]byte) command.Action { return command.Text(string(args[1])) }

func quit(*conn, [][]byte) command.Action {
	return command.Last{Reply: command.Status("OK")}
}

func reset(c *conn, _ [][]byte) command.Action {
	c.awaitBarrier()
	c.subs.Close()
	c.noteSubscriptions()
	c.setProtocol(2)
	c.client.SetName("")
	c.enter(turn.DefaultNamespace)
	c.silence = silence{}
	c.parent = trace.Context{}
	c.tx.Forget()
	c.logOut()
	return command.Status("RESET")
}
