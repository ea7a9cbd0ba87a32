package redis

import (
	"net"
	"sync"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
)

// account is what the memory of one connection is charged to: the budget of all
// connections, and the share of it of the connection's user or, where that is not
// known, of its address. It belongs to the goroutine that reads requests.
type account struct {
	all   *resp.Budget
	share *share
	taken int
}

// Take implements resp.Memory.
func (a *account) Take(n int) bool {
	if !a.all.Take(n) {
		return false
	}
	if !a.share.Take(n) {
		a.all.Give(n)
		return false
	}
	a.taken += n
	return true
}

// Give implements resp.Memory.
func (a *account) Give(n int) {
	a.taken -= n
	a.share.Give(n)
	a.all.Give(n)
}

// share is what one user or address takes. It lives as long as a connection has it.
type share struct {
	*resp.Budget
	name  string
	conns int // guarded by shares.mu
}

// shares are those of all users and addresses that have a connection.
type shares struct {
	mu     sync.Mutex
	byName map[string]*share
}

// take returns the share of that name, of max bytes, for one more connection.
func (s *shares) take(name string, max int64) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = make(map[string]*share)
	}
	sh := s.byName[name]
	if sh == nil {
		sh = &share{Budget: resp.NewBudget(max), name: name}
		s.byName[name] = sh
	}
	sh.conns++
	return sh
}

func (s *shares) release(sh *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.conns--; sh.conns == 0 {
		delete(s.byName, sh.name)
	}
}

// Of the memory for requests one user, or one address without a user, may have three
// quarters; all strangers together a sixteenth, and one address of theirs a quarter
// of that.
func (s *Server) userShare(name string) *share {
	return s.shares.take("user "+name, s.cfg.ReceiveBytes/4*3)
}

func (s *Server) strangerShare(nc net.Conn) *share {
	return s.shares.take("stranger "+hostOf(nc), s.cfg.ReceiveBytes/64)
}

func hostOf(nc net.Conn) string {
	addr := nc.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// open gives the account of a connection that was just accepted its share.
func (s *Server) openAccount(nc net.Conn, users *auth.Users) *account {
	if users == nil {
		return &account{all: s.receive, share: s.shares.take("from "+hostOf(nc), s.cfg.ReceiveBytes/4*3)}
	}
	return &account{all: s.receiveUnknown, share: s.strangerShare(nc)}
}

// moveAccount charges what the connection holds to another share, of which it may be
// more than there is: the connection will get no more then.
func (c *conn) moveAccount(all *resp.Budget, to *share) {
	a := c.memory
	held := a.taken
	a.Give(held)
	c.srv.shares.release(a.share)
	a.all, a.share = all, to
	a.all.Force(held)
	a.share.Force(held)
	a.taken = held
}
