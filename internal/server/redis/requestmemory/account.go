package requestmemory

import (
	"net"
	"sync"

	"github.com/turnlog/turnlog/internal/resp"
)

// Account is what the memory of one connection is charged to: the budget of all
// connections, and the share of it of the connection's user or, where that is not
// known, of its address. It belongs to the goroutine that reads requests.
type Account struct {
	pool  *Pool
	all   *resp.Budget
	share *share
	taken int
}

// Take implements resp.Memory.
func (a *Account) Take(n int) bool {
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
func (a *Account) Give(n int) {
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

// Pool is the memory for requests. One user, or one address without a user, may have three
// quarters of it. Connections that have yet to authenticate have another sixteenth, so that they take
// nothing from users; those of one address have a quarter of that.
type Pool struct {
	bytes                  int64
	users, unauthenticated *resp.Budget
	shares                 shares
}

// New returns a pool of so many bytes.
func New(bytes int64) *Pool {
	return &Pool{bytes: bytes, users: resp.NewBudget(bytes), unauthenticated: resp.NewBudget(bytes / 16)}
}

// Used returns how much users have taken.
func (p *Pool) Used() int64 { return p.users.Used() }

// OpenUnnamed opens the account of a connection that need not authenticate.
func (p *Pool) OpenUnnamed(from net.Addr) *Account {
	return &Account{pool: p, all: p.users, share: p.shares.take("from "+hostOf(from), p.bytes/4*3)}
}

// OpenUnauthenticated opens the account of a connection that has yet to authenticate.
func (p *Pool) OpenUnauthenticated(from net.Addr) *Account {
	return &Account{pool: p, all: p.unauthenticated, share: p.unauthenticatedShare(from)}
}

func (p *Pool) unauthenticatedShare(from net.Addr) *share {
	return p.shares.take("unauthenticated "+hostOf(from), p.bytes/64)
}

func hostOf(addr net.Addr) string {
	if host, _, err := net.SplitHostPort(addr.String()); err == nil {
		return host
	}
	return addr.String()
}

// ToUser charges what the connection holds to a user.
func (a *Account) ToUser(name string) {
	a.move(a.pool.users, a.pool.shares.take("user "+name, a.pool.bytes/4*3))
}

// ToUnauthenticated charges what the connection holds to the unauthenticated connections of its address.
func (a *Account) ToUnauthenticated(from net.Addr) {
	a.move(a.pool.unauthenticated, a.pool.unauthenticatedShare(from))
}

// move charges what the connection holds to another share, of which it may be more than there
// is: the connection will get no more then.
func (a *Account) move(all *resp.Budget, to *share) {
	held := a.taken
	a.Give(held)
	a.pool.shares.release(a.share)
	a.all, a.share = all, to
	a.all.Force(held)
	a.share.Force(held)
	a.taken = held
}

// Close gives everything back. The account may not be used after it.
func (a *Account) Close() {
	a.Give(a.taken)
	a.pool.shares.release(a.share)
}
