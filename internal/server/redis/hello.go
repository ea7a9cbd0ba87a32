package redis

import (
	"strconv"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// redisVersion is the version of Redis whose behaviour clients may expect. Some
// choose commands by it.
const redisVersion = "7.2.4"

// databases is how many numbered databases SELECT knows.
const databases = 16

// defaultUser is the user that AUTH means when it names none, and that every
// connection is where no users are configured.
const defaultUser = "default"

func hello(c *conn, args [][]byte) Action {
	proto := int64(c.proto)
	if len(args) > 1 {
		n, ok := parseInt(args[1])
		if !ok {
			return Error("ERR Protocol version is not an integer or out of range")
		}
		if n < 2 || n > 3 {
			return errNoProto
		}
		proto = n
	}
	name, named := "", false
	for i := 2; i < len(args); i++ {
		switch {
		case is(args[i], "AUTH") && i+2 < len(args):
			if err := c.logIn(args[i+1], args[i+2]); err != "" {
				return err
			}
			i += 2
		case is(args[i], "SETNAME") && i+1 < len(args):
			name, named = string(args[i+1]), true
			if !validName(name) {
				return errClientName
			}
			i++
		default:
			return Error("ERR Syntax error in HELLO option '" + clip(string(args[i]), 128) + "'")
		}
	}
	if c.who.stranger() {
		return errNoAuthHello
	}
	if named {
		c.setName(name)
	}
	c.setProtocol(int(proto))
	return Reply(func(w *resp.Writer) {
		w.Map(7)
		w.BulkString("server")
		w.BulkString("redis")
		w.BulkString("version")
		w.BulkString(redisVersion)
		w.BulkString("proto")
		w.Int(proto)
		w.BulkString("id")
		w.Int(int64(c.id))
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
		c.stopTails()
	}
	c.replies.settle()
	c.replies.own(func(w *resp.Writer) { w.SetProtocol(version) })
	c.proto = version
	c.info.mu.Lock()
	c.info.proto = version
	c.info.mu.Unlock()
}

func (c *conn) setName(name string) {
	c.info.mu.Lock()
	c.info.name = name
	c.info.mu.Unlock()
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
func authenticate(c *conn, args [][]byte) Action {
	name, secret := []byte(defaultUser), args[len(args)-1]
	switch {
	case len(args) > 3:
		return errSyntax
	case len(args) == 3:
		name = args[1]
	case c.srv.cfg.Users == nil:
		return errNoPassword
	}
	if err := c.logIn(name, secret); err != "" {
		return err
	}
	return status("OK")
}

func selectDB(c *conn, args [][]byte) Action {
	n, ok := parseInt(args[1])
	switch {
	case !ok:
		return errNotInteger
	case n != int64(int32(n)):
		return errNotInt32
	case n < 0 || n >= databases:
		return errDBRange
	}
	c.enter(strconv.FormatInt(n, 10))
	return status("OK")
}

// namespace is TURN.NS: SELECT for a namespace of any name.
func namespace(c *conn, args [][]byte) Action {
	if len(args) == 1 {
		return text(c.namespace)
	}
	ns := string(args[1])
	if err := (&turn.Count{Namespace: ns}).Validate(c.srv.engine.Limits()); err != nil {
		return Error(errorText(err, true))
	}
	c.enter(ns)
	return status("OK")
}

func ping(c *conn, args [][]byte) Action {
	if c.listening() && len(args) <= 2 {
		message := ""
		if len(args) == 2 {
			message = string(args[1])
		}
		return Reply(func(w *resp.Writer) {
			w.Array(2)
			w.BulkString("pong")
			w.BulkString(message)
		})
	}
	switch len(args) {
	case 1:
		return status("PONG")
	case 2:
		return text(string(args[1]))
	}
	return errArity("ping")
}

func echo(_ *conn, args [][]byte) Action { return text(string(args[1])) }

func quit(*conn, [][]byte) Action {
	return Last{status("OK")}
}

func reset(c *conn, _ [][]byte) Action {
	c.awaitBarrier()
	c.unsubscribeAll()
	c.setProtocol(2)
	c.setName("")
	c.enter(turn.DefaultNamespace)
	c.quiet, c.skip = false, 0
	c.tx.forget()
	c.logOut()
	return status("RESET")
}
