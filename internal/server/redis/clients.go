package redis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
)

func clientID(c *conn, _ [][]byte) command.Action { return command.Integer(int64(c.id)) }

func clientGetName(c *conn, _ [][]byte) command.Action {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	if c.info.name == "" {
		return command.Null()
	}
	return command.Text(c.info.name)
}

func clientSetName(c *conn, args [][]byte) command.Action {
	name := string(args[2])
	if !validName(name) {
		return errClientName
	}
	if len(name) > maxNameBytes {
		return tooLarge("a client's name can have at most %d bytes", maxNameBytes)
	}
	c.setName(name)
	return command.Status("OK")
}

// maxNameBytes is how long what a client tells of itself can be.
const maxNameBytes = 1024

func clientSetInfo(c *conn, args [][]byte) command.Action {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	var field *string
	var what string
	switch {
	case command.Is(args[2], "LIB-NAME"):
		field, what = &c.info.libName, "lib-name"
	case command.Is(args[2], "LIB-VER"):
		field, what = &c.info.libVer, "lib-ver"
	default:
		return command.Error("ERR Unrecognized option '" + command.Clip(string(args[2]), 128) + "'")
	}
	if !validName(string(args[3])) {
		return command.Error("ERR " + what + " cannot contain spaces, newlines or special characters.")
	}
	if len(args[3]) > maxNameBytes {
		return tooLarge("%s can have at most %d bytes", what, maxNameBytes)
	}
	*field = string(args[3])
	return command.Status("OK")
}

func clientInfo(c *conn, _ [][]byte) command.Action {
	line := c.describe() + "\n"
	return command.Reply(func(w *resp.Writer) { w.Verbatim("txt", line) })
}

// clientList is CLIENT LIST [TYPE type] [ID id …].
func clientList(c *conn, args [][]byte) command.Action {
	keep := func(*conn) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 4 && command.Is(args[2], "TYPE"):
		wanted, err := clientType(args[3])
		if err != "" {
			return err
		}
		keep = func(other *conn) bool { return other.kind() == wanted }
	case len(args) > 3 && command.Is(args[2], "ID"):
		ids, ok := clientIDs(args[3:])
		if !ok {
			return command.Error("ERR Invalid client ID")
		}
		keep = func(other *conn) bool { return slices.Contains(ids, other.id) }
	default:
		return command.ErrSyntax
	}
	cs := c.srv.clients()
	slices.SortFunc(cs, func(a, b *conn) int { return int(a.id) - int(b.id) })
	var b strings.Builder
	for _, other := range cs {
		if keep(other) && !other.isEnding() {
			b.WriteString(other.describe() + "\n")
		}
	}
	return command.Reply(func(w *resp.Writer) { w.Verbatim("txt", b.String()) })
}

// clientType reads a type of connection: see kind.
func clientType(arg []byte) (string, command.Error) {
	switch name := strings.ToLower(string(arg)); name {
	case "normal", "master", "replica", "slave", "pubsub":
		return name, ""
	}
	return "", command.Error("ERR Unknown client type '" + command.Clip(string(arg), 128) + "'")
}

// kind is the connection's type: pubsub if it has subscriptions, else normal.
func (c *conn) kind() string {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	if c.info.channels+c.info.patterns > 0 {
		return "pubsub"
	}
	return "normal"
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

// describe is a line of CLIENT LIST.
func (c *conn) describe() string {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	a := &c.info
	now := c.srv.cfg.Now()
	cmd := a.command
	if cmd == "" {
		cmd = "NULL"
	}
	mode := ""
	if a.channels+a.patterns > 0 {
		mode = "P"
	}
	if c.block.waits() {
		mode += "b"
	}
	if a.noEvict {
		mode += "e"
	}
	mode = cmp.Or(mode, "N")
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=0 "+
		"multi=-1 "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=%s "+
		"redir=-1 resp=%d lib-name=%s lib-ver=%s",
		c.id, c.wire.remote(), c.wire.local(), a.name, int(now.Sub(c.started)/time.Second),
		int(now.Sub(a.active)/time.Second),
		mode, max(0, a.db), a.channels, a.patterns, cmd, a.user, a.proto, a.libName, a.libVer)
}

// clientKill is CLIENT KILL addr, or CLIENT KILL with filters. The connections
// end as at shutdown: what they have sent is answered.
func clientKill(c *conn, args [][]byte) command.Action {
	if len(args) == 3 {
		return c.killAddr(string(args[2]))
	}
	f, err := parseKill(args[2:])
	if err != "" {
		return err
	}
	if f.user != "" && !c.srv.isUser(f.user) {
		return command.Error("ERR No such user '" + command.Clip(f.user, 128) + "'")
	}
	n, self := int64(0), false
	for _, other := range c.srv.clients() {
		if !f.match(other) || other == c && f.skipMe {
			continue
		}
		n++
		if other == c {
			self = true
		} else {
			other.stop()
		}
	}
	if self {
		return command.Last{Reply: command.Integer(n)}
	}
	return command.Integer(n)
}

func (c *conn) killAddr(addr string) command.Action {
	for _, other := range c.srv.clients() {
		if other.wire.remote().String() != addr {
			continue
		}
		if other == c {
			return command.Last{Reply: command.Status("OK")}
		}
		other.stop()
		return command.Status("OK")
	}
	return errNoSuchClient
}

// killFilter selects connections; a zero field does not.
type killFilter struct {
	id          uint64
	addr, laddr string
	kind        string
	user        string
	skipMe      bool
}

func parseKill(args [][]byte) (killFilter, command.Error) {
	f := killFilter{skipMe: true}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return f, command.ErrSyntax
		}
		value := args[i+1]
		switch strings.ToUpper(string(args[i])) {
		case "ID":
			n, ok := command.ParseInt(value)
			if !ok || n < 1 {
				return f, "ERR client-id should be greater than 0"
			}
			f.id = uint64(n)
		case "ADDR":
			f.addr = string(value)
		case "LADDR":
			f.laddr = string(value)
		case "USER":
			f.user = string(value)
		case "TYPE":
			kind, err := clientType(value)
			if err != "" {
				return f, err
			}
			f.kind = kind
		case "SKIPME":
			if !command.Is(value, "yes") && !command.Is(value, "no") {
				return f, command.ErrSyntax
			}
			f.skipMe = command.Is(value, "yes")
		default:
			return f, command.ErrSyntax
		}
	}
	return f, ""
}

func (f killFilter) match(c *conn) bool {
	return (f.kind == "" || f.kind == c.kind()) && (f.user == "" || f.user == c.userName()) &&
		(f.id == 0 || f.id == c.id) &&
		(f.addr == "" || f.addr == c.wire.remote().String()) && (f.laddr == "" || f.laddr == c.wire.local().String())
}

func clientReply(c *conn, args [][]byte) command.Action {
	switch {
	case command.Is(args[2], "ON"):
		c.quiet = false
	case command.Is(args[2], "OFF"):
		c.quiet = true
	case command.Is(args[2], "SKIP"):
		if !c.quiet {
			c.skip = 2 // this reply and the next
		}
	default:
		return command.ErrSyntax
	}
	return command.Status("OK")
}

func clientNoEvict(c *conn, args [][]byte) command.Action {
	if !command.Is(args[2], "ON") && !command.Is(args[2], "OFF") {
		return command.ErrSyntax
	}
	c.info.mu.Lock()
	c.info.noEvict = command.Is(args[2], "ON")
	c.info.mu.Unlock()
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
