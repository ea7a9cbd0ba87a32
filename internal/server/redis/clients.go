package redis

import (
	"context"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/clients"
	"github.com/turnlog/turnlog/internal/server/redis/command"
)

func clientID(c *conn, _ [][]byte) command.Action { return command.Integer(int64(c.client.ID)) }

func clientGetName(c *conn, _ [][]byte) command.Action {
	if name := c.client.Name(); name != "" {
		return command.Text(name)
	}
	return command.Null()
}

func clientSetName(c *conn, args [][]byte) command.Action {
	name := string(args[2])
	if !validName(name) {
		return errClientName
	}
	if len(name) > maxNameBytes {
		return command.TooLarge("a client's name can have at most %d bytes", maxNameBytes)
	}
	c.client.SetName(name)
	return command.Status("OK")
}

// maxNameBytes is how long what a client tells of itself can be.
const maxNameBytes = 1024

func clientSetInfo(c *conn, args [][]byte) command.Action {
	var set func(string)
	var what string
	switch {
	case command.Is(args[2], "LIB-NAME"):
		set, what = c.client.SetLibrary, "lib-name"
	case command.Is(args[2], "LIB-VER"):
		set, what = c.client.SetLibraryVersion, "lib-ver"
	default:
		return command.Error("ERR Unrecognized option '" + command.Clip(string(args[2]), 128) + "'")
	}
	if !validName(string(args[3])) {
		return command.Error("ERR " + what + " cannot contain spaces, newlines or special characters.")
	}
	if len(args[3]) > maxNameBytes {
		return command.TooLarge("%s can have at most %d bytes", what, maxNameBytes)
	}
	set(string(args[3]))
	return command.Status("OK")
}

func clientInfo(c *conn, _ [][]byte) command.Action {
	line := c.client.Line(c.srv.cfg.Now()) + "\n"
	return command.Reply(func(w *resp.Writer) { w.Verbatim("txt", line) })
}

// clientList is CLIENT LIST [TYPE type] [ID id …].
func clientList(c *conn, args [][]byte) command.Action {
	keep := func(*clients.Client) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 4 && command.Is(args[2], "TYPE"):
		wanted, err := clients.ParseType(args[3])
		if err != "" {
			return err
		}
		keep = func(other *clients.Client) bool { return other.Type() == wanted }
	case len(args) > 3 && command.Is(args[2], "ID"):
		ids, ok := clientIDs(args[3:])
		if !ok {
			return command.Error("ERR Invalid client ID")
		}
		keep = func(other *clients.Client) bool { return slices.Contains(ids, other.ID) }
	default:
		return command.ErrSyntax
	}
	cs := c.srv.conns.all()
	slices.SortFunc(cs, func(a, b *conn) int { return int(a.client.ID) - int(b.client.ID) })
	var b strings.Builder
	now := c.srv.cfg.Now()
	for _, other := range cs {
		if keep(&other.client) && other.client.Listed() {
			b.WriteString(other.client.Line(now) + "\n")
		}
	}
	return command.Reply(func(w *resp.Writer) { w.Verbatim("txt", b.String()) })
}

func clientIDs(args [][]byte) (ids []uint64, ok bool) {
	for _, a := range args {
		n, ok := command.ParseInt(a)
		if !ok {
			return nil, false
		}
		ids = append(ids, uint64(n))
	}
	return ids, true
}

// clientKill is CLIENT KILL addr, or CLIENT KILL with filters. The connections
// end as at shutdown: what they have sent is answered.
func clientKill(c *conn, args [][]byte) command.Action {
	if len(args) == 3 {
		return killAddr(c, string(args[2]))
	}
	f, err := clients.ParseFilter(args[2:])
	if err != "" {
		return err
	}
	if f.User != "" && !c.srv.isUser(f.User) {
		return command.Error("ERR No such user '" + command.Clip(f.User, 128) + "'")
	}
	n, self := int64(0), false
	for _, other := range c.srv.conns.all() {
		if !f.Match(&other.client) || other == c && f.SkipMe {
			continue
		}
		n++
		if other == c {
			self = true
		} else {
			other.wire.Stop()
		}
	}
	if self {
		return command.Last{Reply: command.Integer(n)}
	}
	return command.Integer(n)
}

func killAddr(c *conn, addr string) command.Action {
	for _, other := range c.srv.conns.all() {
		if other.client.Remote.String() != addr {
			continue
		}
		if other == c {
			return command.Last{Reply: command.Status("OK")}
		}
		other.wire.Stop()
		return command.Status("OK")
	}
	return errNoSuchClient
}

// clientUnblock is CLIENT UNBLOCK id [TIMEOUT|ERROR].
func clientUnblock(c *conn, args [][]byte) command.Action {
	if len(args) > 4 {
		return command.ErrSyntax
	}
	var refusal error
	if len(args) == 4 {
		switch {
		case command.Is(args[3], "ERROR"):
			refusal = errUnblocked
		case !command.Is(args[3], "TIMEOUT"):
			return command.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	}
	id, ok := command.ParseInt(args[2])
	if !ok {
		return command.ErrNotInteger
	}
	return command.Alone(func(context.Context) (command.Reply, error) {
		n := uint64(0)
		for _, other := range c.srv.conns.all() {
			if int64(other.client.ID) == id && other.block.End(refusal) {
				n = 1
			}
		}
		return command.Count(n), nil
	})
}

func clientNoEvict(c *conn, args [][]byte) command.Action {
	if !command.Is(args[2], "ON") && !command.Is(args[2], "OFF") {
		return command.ErrSyntax
	}
	c.client.SetNoEvict(command.Is(args[2], "ON"))
	return command.Status("OK")
}

func clientNoTouch(_ *conn, args [][]byte) command.Action {
	if !command.Is(args[2], "ON") && !command.Is(args[2], "OFF") {
		return command.ErrSyntax
	}
	return command.Status("OK")
}

// clientTracking accepts to go on without client-side caching.
func clientTracking(_ *conn, args [][]byte) command.Action {
	if len(args) == 3 && command.Is(args[2], "OFF") {
		return command.Status("OK")
	}
	return command.Error("ERR client tracking is not supported")
}

func clientGetRedir(*conn, [][]byte) command.Action { return command.Integer(-1) }
