package redis

import (
	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// identity is who a client is. It belongs to the goroutine that reads requests;
// others see what about tells of it.
type identity struct {
	all   *auth.Users // nil: there are none
	login auth.Login  // as whom the client has authenticated
	set   *auth.Set   // in which user was looked up
	user  *auth.User  // nil: it has yet to authenticate, or there are no users
}

// unauthenticated reports whether the client has yet to authenticate.
func (i *identity) unauthenticated() bool { return i.all != nil && i.user == nil }

// outdated reports whether the users file was read again since the client's user
// was looked up.
func (i *identity) outdated() bool { return i.all != nil && i.all.Current() != i.set }

// follow looks the user up again if the users file was read again.
func (c *conn) follow() {
	set := c.who.all.Current()
	if set == c.who.set {
		return
	}
	c.who.set = set
	before := c.who.user
	c.become(set.Find(c.who.login))
	if before.Same(c.who.user) {
		return
	}
	c.tx.Spoil() // what is queued was allowed by rules that hold no more
	if c.subs.Count() > 0 {
		c.wire.Stop() // UsersChanged compares with the user that it is now
	}
}

// become makes u the connection's user; nil: it has yet to authenticate, may send
// small requests only, and has little time for it.
func (c *conn) become(u *auth.User) {
	c.who.user = u
	c.admit(u)
	name := defaultUser
	if u != nil {
		name = u.Name
	}
	c.client.SetUser(u, c.who.login, name)
}

// admit gives the connection the time and the memory that u's have; nil: that unauthenticated ones have.
func (c *conn) admit(u *auth.User) {
	c.in.SetUnauthenticated(u == nil)
	if u != nil {
		c.place.Authenticate(true) // it was let in when it logged in
		c.wire.SetUnauthenticated(false)
		c.memory.ToUser(u.Name)
		return
	}
	c.place.SetUnauthenticated(c.giveWay)
	c.wire.SetUnauthenticated(true)
	c.memory.ToUnauthenticated(c.wire.Remote())
}

// giveWay closes an unauthenticated connection in favour of another one.
func (c *conn) giveWay() {
	c.srv.conns.remove(c)
	c.srv.stats.rejected.Add(1)
	c.wire.CutOff()
}

// errSubscribed binds subscriptions to the user that was allowed to make them: otherwise
// the connection would still receive messages that another user may not see, or after
// the first user was removed.
const errSubscribed command.Error = "ERR unsubscribe before authenticating as another user"

// logIn makes the connection that of a user, if the password is right; if not, it
// stays what it was.
func (c *conn) logIn(name, password []byte) command.Error {
	users := c.who.all
	if users == nil {
		if string(name) != defaultUser {
			return errWrongPass
		}
		return "" // who has no password, so any is right
	}
	c.replies.Flush() // computing can take its time
	login, err := users.Authenticate(string(name), string(password), c.wire.Remote().String())
	if err != nil {
		if turn.KindOf(err) == turn.Unauthorized {
			return errWrongPass
		}
		return command.Error(command.ErrorText(err, false))
	}
	set := users.Current()
	user := set.Find(login)
	if user == nil {
		return errWrongPass // the users file was read again at this moment
	}
	if c.subs.Count() > 0 && c.who.login.Name != login.Name {
		return errSubscribed
	}
	if c.who.user == nil && !c.place.Authenticate(user.May(auth.Admin)) {
		return errMaxClients
	}
	c.who.login, c.who.set = login, set
	c.become(user)
	return ""
}

// logOut makes the connection unauthenticated.
func (c *conn) logOut() {
	if c.who.all != nil {
		c.who.login = auth.Login{}
		c.become(nil)
	}
}

// isUser reports whether there is a user of that name.
func (s *Server) isUser(name string) bool {
	if s.cfg.Users == nil {
		return name == defaultUser
	}
	return s.cfg.Users.Current().Has(name)
}

func aclWhoAmI(c *conn, _ [][]byte) command.Action { return command.Text(c.client.UserName()) }

// UsersChanged must be called after the users file was read again. Requests are authorised
// by the current users without it; it closes connections whose subscriptions would still
// deliver messages although their user was removed or changed.
func (s *Server) UsersChanged() {
	set := s.cfg.Users.Current()
	for _, c := range s.conns.all() {
		if c.who.all == nil {
			continue
		}
		known, login, ok := c.client.Subscriber()
		if ok && !known.Same(set.Find(login)) {
			s.log.Info("redis: closing connection of a subscriber whose user has changed", "client", c.wire.Remote(),
				"user", login.Name)
			c.wire.Stop()
		}
	}
}
