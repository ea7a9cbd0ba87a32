package redis

import (
	"context"
	"strconv"

	"github.com/turnlog/turnlog/internal/auth"
)

// reach says what a command gets at that has no keys. A command without keys and
// without a reach is refused to everybody who is limited in any way.
type reach uint8

const (
	reachUnstated  reach = iota
	reachServer          // its connection, or the server: no keys, names of keys or values
	reachShown           // those keys of the namespace that the user may see; the handler sees to it
	reachNamespace       // every key of the namespace
	reachDatabases       // every key of every numbered database
	reachPrefix          // every key of the namespace that begins with the third word
	reachEntered         // the namespace that the second word names, if there is one
	reachTold            // the channel that the second word names
	reachHeard           // the channels that the words name
	reachHeardAll        // the channels whose names match the words
	reachChannels        // every channel, or counts of their subscribers
)

// neededRight returns the right that a command needs. It follows from what the table
// says.
func (cmd *command) neededRight() auth.Right {
	switch {
	case cmd.is("admin") && !cmd.forAll:
		return auth.Admin
	case cmd.is("write"), cmd.reach == reachTold:
		return auth.Write
	case cmd.reach == reachServer:
		return auth.None
	}
	return auth.Read
}

const (
	errNoAuth       Error = "NOAUTH Authentication required."
	errNoAuthHello  Error = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errNoKeyPerm    Error = "NOPERM this user has no permissions to access one of the keys used as arguments"
	errNoChanPerm   Error = "NOPERM this user has no permissions to access one of the channels used as arguments"
	errNoDBPerm     Error = "NOPERM this user has no permissions to access this namespace"
	errNoWholePerm  Error = "NOPERM this user has no permissions to access all keys that the command concerns"
	errNoPrefixPerm Error = "NOPERM this user has no permissions to access all keys with this prefix"
)

func errNoCommandPerm(cmd *command) Error {
	return Error("NOPERM this user has no permissions to run the '" + cmd.name + "' command")
}

// authorise decides whether the connection's user may make a request. It is the
// only place that does, for requests that are queued, too, and knows nothing but
// what stands in the table of commands.
func (c *conn) authorise(cmd *command, args [][]byte) Error {
	if c.srv.cfg.Users == nil {
		return ""
	}
	c.follow()
	switch {
	case cmd.beforeAuth:
		return ""
	case c.who.user == nil:
		return errNoAuth
	}
	return c.srv.permit(c.who.user, cmd, c.namespace, args)
}

// permit decides whether a user may make a request in a namespace.
func (s *Server) permit(u *auth.User, cmd *command, ns string, args [][]byte) Error {
	if !u.May(cmd.right) {
		return errNoCommandPerm(cmd)
	}
	if cmd.movable != nil || cmd.keys.first != 0 {
		return permitKeys(u, cmd, ns, args)
	}
	ok, refusal := true, errNoDBPerm
	switch cmd.reach {
	case reachServer:
	case reachShown:
		ok = u.MayEnter(ns)
	case reachNamespace:
		ok, refusal = u.MayTouchAll(ns, ""), errNoWholePerm
	case reachDatabases:
		refusal = errNoWholePerm
		for _, db := range s.databases {
			ok = ok && u.MayTouchAll(db, "")
		}
	case reachPrefix:
		ok, refusal = u.MayTouchAll(ns, string(args[2])), errNoPrefixPerm
	case reachEntered:
		ok = len(args) == 1 || u.MayEnter(string(args[1]))
	case reachTold:
		ok, refusal = s.mayHear(u, ns, args[1]), errNoChanPerm
	case reachHeard:
		refusal = errNoChanPerm
		for _, channel := range args[1:] {
			ok = ok && (string(channel) == switchMaster || s.mayHear(u, ns, channel))
		}
	case reachHeardAll:
		refusal = errNoChanPerm
		for _, pattern := range args[1:] {
			ok = ok && s.mayHear(u, ns, []byte(literalPrefix(string(pattern))))
		}
	case reachChannels:
		ok, refusal = s.mayHear(u, ns, nil), errNoChanPerm
	default:
		ok, refusal = u.May(auth.Admin) && u.MayTouchAll(ns, ""), errNoCommandPerm(cmd)
	}
	if !ok {
		return refusal
	}
	return ""
}

// permitKeys goes through the arguments that are keys, without making a list.
func permitKeys(u *auth.User, cmd *command, ns string, args [][]byte) Error {
	if !u.MayEnter(ns) {
		return errNoDBPerm
	}
	keys, step := cmd.keyRun(args)
	for i := 0; i < len(keys); i += step {
		if !u.MayTouch(keys[i]) {
			return errNoKeyPerm
		}
	}
	return ""
}

// mayHear reports whether all channels that begin with prefix are the user's.
func (s *Server) mayHear(u *auth.User, ns string, prefix []byte) bool {
	if n, err := strconv.Atoi(ns); err == nil && n >= 0 && n < databases {
		return u.MayHear(s.databases, prefix) // they share their channels
	}
	return u.MayHear([]string{ns}, prefix)
}

// guard lets reads that block answer only if the user may still know it by then.
func (c *conn) guard(cmd *command, args [][]byte, a Action) Action {
	if hears := cmd.reach == reachHeard || cmd.reach == reachHeardAll; hears && c.who.outdated() {
		c.stop() // UsersChanged may have come too early to see the subscription
	}
	wait, ok := a.(*Wait)
	if !ok || c.srv.cfg.Users == nil || !cmd.blocks || cmd.is("write") {
		return a
	}
	still := c.permission(cmd, args)
	return &Wait{func(ctx context.Context) (Reply, error) {
		r, err := wait.Run(ctx)
		if refusal := still(); refusal != "" {
			return nil, refusal
		}
		return r, err
	}}
}

// permission returns a function that any goroutine may ask whether the connection's
// user may still do what he may do now.
func (c *conn) permission(cmd *command, args [][]byte) func() Error {
	if c.srv.cfg.Users == nil {
		return func() Error { return "" }
	}
	kept := make([][]byte, len(args))
	for i := range args {
		kept[i] = append([]byte(nil), args[i]...)
	}
	login, ns := c.who.login, c.namespace
	return func() Error {
		user := c.srv.cfg.Users.Current().Find(login)
		if user == nil {
			return errNoAuth
		}
		return c.srv.permit(user, cmd, ns, kept)
	}
}
