package redis

import (
	"context"
	"strconv"

	"github.com/turnlog/turnlog/access"
	"github.com/turnlog/turnlog/turn"
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
func (cmd *command) neededRight() access.Right {
	switch {
	case cmd.is("admin") && !cmd.forAll:
		return access.Admin
	case cmd.is("write"), cmd.reach == reachTold:
		return access.Write
	case cmd.reach == reachServer:
		return access.None
	}
	return access.Read
}

const (
	errNoAuth       replyError = "NOAUTH Authentication required."
	errNoAuthHello  replyError = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errNoKeyPerm    replyError = "NOPERM this user has no permissions to access one of the keys used as arguments"
	errNoChanPerm   replyError = "NOPERM this user has no permissions to access one of the channels used as arguments"
	errNoDBPerm     replyError = "NOPERM this user has no permissions to access this namespace"
	errNoWholePerm  replyError = "NOPERM this user has no permissions to access all keys that the command concerns"
	errNoPrefixPerm replyError = "NOPERM this user has no permissions to access all keys with this prefix"
)

func errNoCommandPerm(cmd *command) replyError {
	return replyError("NOPERM this user has no permissions to run the '" + cmd.name + "' command")
}

// authorise decides whether the connection's user may make a request. It is the
// only place that does, for requests that are queued, too, and knows nothing but
// what stands in the table of commands.
func (c *conn) authorise(cmd *command, args [][]byte) replyError {
	if c.srv.cfg.Users == nil {
		return ""
	}
	c.follow()
	switch {
	case cmd.beforeAuth:
		return ""
	case c.user == nil:
		return errNoAuth
	}
	return c.srv.permit(c.user, cmd, c.namespace, args)
}

// follow looks the user up again if the users have been read anew.
func (c *conn) follow() {
	set := c.srv.cfg.Users.Current()
	if set == c.users {
		return
	}
	c.users = set
	c.become(set.Find(c.login))
	if c.tx != nil {
		c.tx.dirty = true // what is queued was allowed by rules that hold no more
	}
}

// stranger reports whether the client has yet to authenticate.
func (c *conn) stranger() bool { return c.srv.cfg.Users != nil && c.user == nil }

// become makes u the connection's user; nil: nobody, who may send small requests
// only, and soon.
func (c *conn) become(u *access.User) {
	c.user = u
	c.in.Unauthenticated(u == nil)
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	c.about.known, c.about.login, c.about.user = u, c.login, defaultUser
	if u != nil {
		c.about.user = u.Name
	}
}

// logIn makes the connection that of a user, if the secret is right; if not, it
// stays what it was.
func (c *conn) logIn(name, secret []byte) replyError {
	users := c.srv.cfg.Users
	if users == nil {
		if string(name) != defaultUser {
			return errWrongPass
		}
		return "" // who has no password, so any is right
	}
	c.replies.flush() // computing can take its time
	login, err := users.Authenticate(string(name), string(secret), c.nc.RemoteAddr().String())
	if err != nil {
		if turn.KindOf(err) == turn.Unauthorized {
			return errWrongPass
		}
		return replyError(errorText(err, false))
	}
	set := users.Current()
	user := set.Find(login)
	if user == nil {
		return errWrongPass // the users were read anew at this moment
	}
	c.login, c.users = login, set
	c.become(user)
	return ""
}

// logOut makes the connection nobody's.
func (c *conn) logOut() {
	if c.srv.cfg.Users != nil {
		c.login = access.Login{}
		c.become(nil)
	}
}

// permit decides whether a user may make a request in a namespace.
func (s *Server) permit(u *access.User, cmd *command, ns string, args [][]byte) replyError {
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
		ok, refusal = u.May(access.Admin) && u.MayTouchAll(ns, ""), errNoCommandPerm(cmd)
	}
	if !ok {
		return refusal
	}
	return ""
}

// permitKeys goes through the arguments that are keys, without making a list.
func permitKeys(u *access.User, cmd *command, ns string, args [][]byte) replyError {
	if !u.MayEnter(ns) {
		return errNoDBPerm
	}
	var keys [][]byte
	step := cmd.keys.step
	if cmd.movable != nil {
		keys, step = cmd.movable(args), 1
	} else {
		last := cmd.keys.last
		if last < 0 {
			last += len(args)
		}
		keys = args[min(cmd.keys.first, len(args)):min(last+1, len(args))]
	}
	for i := 0; i < len(keys); i += step {
		if !u.MayTouch(keys[i]) {
			return errNoKeyPerm
		}
	}
	return ""
}

// mayHear reports whether all channels that begin with prefix are the user's.
func (s *Server) mayHear(u *access.User, ns string, prefix []byte) bool {
	if n, err := strconv.Atoi(ns); err == nil && n >= 0 && n < databases {
		return u.MayHear(s.databases, prefix) // they share their channels
	}
	return u.MayHear([]string{ns}, prefix)
}

// guard lets reads that block answer only if the user may still know it by then.
func (c *conn) guard(cmd *command, args [][]byte, a action) action {
	if hears := cmd.reach == reachHeard || cmd.reach == reachHeardAll; hears && c.srv.cfg.Users != nil && c.srv.cfg.Users.Current() != c.users {
		c.stop() // UsersChanged may have come too early to see the subscription
	}
	if c.srv.cfg.Users == nil || !cmd.blocks || cmd.is("write") || a.work == nil {
		return a
	}
	still, work := c.permission(cmd, args), a.work
	a.work = func(ctx context.Context) (reply, error) {
		r, err := work(ctx)
		if refusal := still(); refusal != "" {
			return nil, refusal
		}
		return r, err
	}
	return a
}

// permission returns a function that any goroutine may ask whether the connection's
// user may still do what he may do now.
func (c *conn) permission(cmd *command, args [][]byte) func() replyError {
	if c.srv.cfg.Users == nil {
		return func() replyError { return "" }
	}
	kept := make([][]byte, len(args))
	for i := range args {
		kept[i] = append([]byte(nil), args[i]...)
	}
	login, ns := c.login, c.namespace
	return func() replyError {
		user := c.srv.cfg.Users.Current().Find(login)
		if user == nil {
			return errNoAuth
		}
		return c.srv.permit(user, cmd, ns, kept)
	}
}

// isUser reports whether there is a user of that name.
func (s *Server) isUser(name string) bool {
	if s.cfg.Users == nil {
		return name == defaultUser
	}
	return s.cfg.Users.Current().Has(name)
}

func aclWhoAmI(c *conn, _ [][]byte) action { return text(c.userName()) }

// UsersChanged is to be called when the users were read anew. What is asked from
// then on is authorised by what they are now, without it; it ends connections to
// which messages of channels would still come although their user is gone or another.
func (s *Server) UsersChanged() {
	set := s.cfg.Users.Current()
	for _, c := range s.clients() {
		c.about.mu.Lock()
		listens := c.about.channels+c.about.patterns > 0
		known, login := c.about.known, c.about.login
		c.about.mu.Unlock()
		if listens && !known.Same(set.Find(login)) {
			s.log.Info("redis: closing connection of a subscriber whose user has changed", "client", c.nc.RemoteAddr(), "user", login.Name)
			c.stop()
		}
	}
}
