package redis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
)

func clientID(c *conn, _ [][]byte) action { return integer(int64(c.id)) }

func clientGetName(c *conn, _ [][]byte) action {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	if c.about.name == "" {
		return null()
	}
	return text(c.about.name)
}

func clientSetName(c *conn, args [][]byte) action {
	name := string(args[2])
	if !validName(name) {
		return refuse(errClientName)
	}
	if len(name) > maxNameBytes {
		return refuse(tooLarge("a client's name can have %d bytes", maxNameBytes))
	}
	c.setName(name)
	return status("OK")
}

// maxNameBytes is how long what a client tells of itself can be.
const maxNameBytes = 1024

func clientSetInfo(c *conn, args [][]byte) action {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	var field *string
	var what string
	switch {
	case is(args[2], "LIB-NAME"):
		field, what = &c.about.libName, "lib-name"
	case is(args[2], "LIB-VER"):
		field, what = &c.about.libVer, "lib-ver"
	default:
		return refuse(replyError("ERR Unrecognized option '" + clip(string(args[2]), 128) + "'"))
	}
	if !validName(string(args[3])) {
		return refuse(replyError("ERR " + what + " cannot contain spaces, newlines or special characters."))
	}
	if len(args[3]) > maxNameBytes {
		return refuse(tooLarge("%s can have %d bytes", what, maxNameBytes))
	}
	*field = string(args[3])
	return status("OK")
}

func clientInfo(c *conn, _ [][]byte) action {
	line := c.describe() + "\n"
	return say(func(w *resp.Writer) { w.Verbatim("txt", line) })
}

// clientList is CLIENT LIST [TYPE type] [ID id …].
func clientList(c *conn, args [][]byte) action {
	keep := func(*conn) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 4 && is(args[2], "TYPE"):
		wanted, err := clientType(args[3])
		if err != "" {
			return refuse(err)
		}
		keep = func(other *conn) bool { return other.kind() == wanted }
	case len(args) > 3 && is(args[2], "ID"):
		ids, ok := clientIDs(args[3:])
		if !ok {
			return refuse("ERR Invalid client ID")
		}
		keep = func(other *conn) bool { return slices.Contains(ids, other.id) }
	default:
		return refuse(errSyntax)
	}
	cs := c.srv.clients()
	slices.SortFunc(cs, func(a, b *conn) int { return int(a.id) - int(b.id) })
	var b strings.Builder
	for _, other := range cs {
		if keep(other) && !other.isEnding() {
			b.WriteString(other.describe() + "\n")
		}
	}
	return say(func(w *resp.Writer) { w.Verbatim("txt", b.String()) })
}

// clientType reads a type of connection: see kind.
func clientType(arg []byte) (string, replyError) {
	switch name := strings.ToLower(string(arg)); name {
	case "normal", "master", "replica", "slave", "pubsub":
		return name, ""
	}
	return "", replyError("ERR Unknown client type '" + clip(string(arg), 128) + "'")
}

// kind is the connection's type: pubsub if it has subscriptions, else normal.
func (c *conn) kind() string {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	if c.about.channels+c.about.patterns > 0 {
		return "pubsub"
	}
	return "normal"
}

func clientIDs(args [][]byte) (ids []uint64, ok bool) {
	for _, a := range args {
		n, ok := parseInt(a)
		if !ok {
			return nil, false
		}
		ids = append(ids, uint64(n))
	}
	return ids, true
}

// describe is a line of CLIENT LIST.
func (c *conn) describe() string {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	a := &c.about
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
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=0 multi=-1 "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s",
		c.id, c.wire.remote(), c.wire.local(), a.name, int(now.Sub(c.started)/time.Second), int(now.Sub(a.active)/time.Second),
		mode, max(0, a.db), a.channels, a.patterns, cmd, a.user, a.proto, a.libName, a.libVer)
}

// clientKill is CLIENT KILL addr, or CLIENT KILL with filters. The connections
// end as at shutdown: what they have sent is answered.
func clientKill(c *conn, args [][]byte) action {
	if len(args) == 3 {
		return c.killAddr(string(args[2]))
	}
	f, err := parseKill(args[2:])
	if err != "" {
		return refuse(err)
	}
	if f.user != "" && !c.srv.isUser(f.user) {
		return refuse(replyError("ERR No such user '" + clip(f.user, 128) + "'"))
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
	a := integer(n)
	a.last = self
	return a
}

func (c *conn) killAddr(addr string) action {
	for _, other := range c.srv.clients() {
		if other.wire.remote().String() != addr {
			continue
		}
		a := status("OK")
		if a.last = other == c; !a.last {
			other.stop()
		}
		return a
	}
	return refuse(errNoSuchClient)
}

// killFilter selects connections; a zero field does not.
type killFilter struct {
	id          uint64
	addr, laddr string
	kind        string
	user        string
	skipMe      bool
}

func parseKill(args [][]byte) (killFilter, replyError) {
	f := killFilter{skipMe: true}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return f, errSyntax
		}
		value := args[i+1]
		switch strings.ToUpper(string(args[i])) {
		case "ID":
			n, ok := parseInt(value)
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
			if !is(value, "yes") && !is(value, "no") {
				return f, errSyntax
			}
			f.skipMe = is(value, "yes")
		default:
			return f, errSyntax
		}
	}
	return f, ""
}

func (f killFilter) match(c *conn) bool {
	return (f.kind == "" || f.kind == c.kind()) && (f.user == "" || f.user == c.userName()) && (f.id == 0 || f.id == c.id) &&
		(f.addr == "" || f.addr == c.wire.remote().String()) && (f.laddr == "" || f.laddr == c.wire.local().String())
}

// userName is whose the connection is, as others may ask.
func (c *conn) userName() string {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	return c.about.user
}

func clientReply(c *conn, args [][]byte) action {
	switch {
	case is(args[2], "ON"):
		c.quiet = false
	case is(args[2], "OFF"):
		c.quiet = true
	case is(args[2], "SKIP"):
		if !c.quiet {
			c.skip = 2 // this reply and the next
		}
	default:
		return refuse(errSyntax)
	}
	return status("OK")
}

func clientNoEvict(c *conn, args [][]byte) action {
	if !is(args[2], "ON") && !is(args[2], "OFF") {
		return refuse(errSyntax)
	}
	c.about.mu.Lock()
	c.about.noEvict = is(args[2], "ON")
	c.about.mu.Unlock()
	return status("OK")
}

func clientNoTouch(_ *conn, args [][]byte) action {
	if !is(args[2], "ON") && !is(args[2], "OFF") {
		return refuse(errSyntax)
	}
	return status("OK")
}

// clientTracking accepts to go on without client-side caching.
func clientTracking(_ *conn, args [][]byte) action {
	if len(args) == 3 && is(args[2], "OFF") {
		return status("OK")
	}
	return refuse("ERR client tracking is not supported")
}

func clientGetRedir(*conn, [][]byte) action { return integer(-1) }
