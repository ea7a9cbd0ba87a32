package clients

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
)

// Client is what one connection shows. Any goroutine may call its methods; its exported fields are
// set before, and do not change.
type Client struct {
	ID            uint64
	Remote, Local net.Addr
	Started       time.Time
	Blocked       func() bool // whether a request of it waits

	mu       sync.Mutex
	ending   bool // the last request was handled: see Vanish
	name     string
	libName  string
	libVer   string
	db       int
	proto    int
	command  string
	userName string
	user     *auth.User // nil: it has yet to authenticate, or there are no users
	login    auth.Login
	active   time.Time // when the last request was received
	noEvict  bool
	// channels and patterns are the numbers of subscriptions.
	channels, patterns int
}

// set changes what is shown.
func (c *Client) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// Vanish takes the connection out of CLIENT LIST: once the client has the answer to its
// last request, the connection is not listed any more, as in Redis.
func (c *Client) Vanish() { c.set(func() { c.ending = true }) }

// Listed reports whether CLIENT LIST has the connection.
func (c *Client) Listed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ending
}

// Received notes that a request was received, for a command unless that is empty.
func (c *Client) Received(now time.Time, command string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = now
	if command != "" {
		c.command = command
	}
}

// SetCommand makes a command the last one that is shown.
func (c *Client) SetCommand(name string) { c.set(func() { c.command = name }) }

// SetProtocol notes the version of the protocol.
func (c *Client) SetProtocol(version int) { c.set(func() { c.proto = version }) }

// SetNamespace notes the connection's namespace. Numbered ones are Redis databases.
func (c *Client) SetNamespace(ns string) {
	db, err := strconv.Atoi(ns)
	if err != nil {
		db = -1
	}
	c.set(func() { c.db = db })
}

// SetUser notes as whom a client has authenticated, and what that user is called. user is nil for
// one that has yet to authenticate, and where there are no users.
func (c *Client) SetUser(user *auth.User, login auth.Login, name string) {
	c.set(func() { c.user, c.login, c.userName = user, login, name })
}

// Subscriber returns as whom the client has authenticated. ok is false if it has no subscriptions.
func (c *Client) Subscriber() (user *auth.User, login auth.Login, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user, c.login, c.channels+c.patterns > 0
}

// UserName is whose the connection is.
func (c *Client) UserName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.userName
}

// SetSubscriptions notes the numbers of subscriptions.
func (c *Client) SetSubscriptions(channels, patterns int) {
	c.set(func() { c.channels, c.patterns = channels, patterns })
}

// Listens reports whether the connection has subscriptions.
func (c *Client) Listens() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channels+c.patterns > 0
}

// SetName names the connection, for people.
func (c *Client) SetName(name string) { c.set(func() { c.name = name }) }

// Name is what SetName was given last.
func (c *Client) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// SetLibrary notes the name of the client's library.
func (c *Client) SetLibrary(name string) { c.set(func() { c.libName = name }) }

// SetLibraryVersion notes the version of the client's library.
func (c *Client) SetLibraryVersion(version string) { c.set(func() { c.libVer = version }) }

// Library is what SetLibrary was given last.
func (c *Client) Library() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.libName
}

// SetNoEvict notes what CLIENT NO-EVICT was told.
func (c *Client) SetNoEvict(on bool) { c.set(func() { c.noEvict = on }) }

// Line is the connection's line of CLIENT LIST.
func (c *Client) Line(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocked := c.Blocked() // not before the lock: a request waits, and then its command is noted
	mode := ""
	if c.channels+c.patterns > 0 {
		mode = "P"
	}
	if blocked {
		mode += "b"
	}
	if c.noEvict {
		mode += "e"
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=0 "+
		"multi=-1 "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=%s "+
		"redir=-1 resp=%d lib-name=%s lib-ver=%s",
		c.ID, c.Remote, c.Local, c.name, int(now.Sub(c.Started)/time.Second), int(now.Sub(c.active)/time.Second),
		cmp.Or(mode, "N"), max(0, c.db), c.channels, c.patterns, cmp.Or(c.command, "NULL"), c.userName, c.proto,
		c.libName, c.libVer)
}
