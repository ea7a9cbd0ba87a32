package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/throttle"
	"github.com/turnlog/turnlog/turn"
)

// Users is the users file as it is now. Its methods may be called by any
// goroutine.
type Users struct {
	path string
	log  *slog.Logger
	set  atomic.Pointer[Set]

	pepper  [32]byte // of the digests that stand for proven passwords
	queue   *queue
	seen    *seen
	maxWait time.Duration
	pause   time.Duration // before a client learns that too many wait
	proves  func(h *hashed, password string) bool

	refusals throttle.Throttle // of what is logged about them

	mu      sync.Mutex
	flights map[digest]*flight // proofs being computed
}

// digest stands for a name and a password in the memory of this process.
type digest [sha256.Size]byte

// flight is a proof that is being computed; login and err are set when done is closed.
type flight struct {
	done  chan struct{}
	login Login
	err   error
}

// password is one of a user's. It outlives reloads that keep it.
type password struct {
	hashed
	text   string                 // as in the file
	proven atomic.Pointer[digest] // of what has proved to be the password
}

// Set is the users of one reading of the file. It does not change.
type Set struct {
	users map[string]*User
	most  int          // passwords that a user has
	costs map[cost]int // how many of them a user has at most of each cost
}

// Login is the proof that somebody is a user. It holds for as long as the file
// has that user with the password that was shown.
type Login struct {
	Name     string
	password string // as in the file
}

// Open reads a users file. It starts nothing. What helps users in during a flood
// after a restart is kept in the file seenPath; empty: nowhere. Run writes it.
func Open(path, seenPath string, log *slog.Logger) (*Users, error) {
	u := &Users{path: path, log: log, queue: newQueue(defaultBounds()), seen: openSeen(seenPath),
		maxWait: 5 * time.Second, pause: time.Second,
		proves: (*hashed).proves, flights: make(map[digest]*flight)}
	rand.Read(u.pepper[:]) // never fails
	set, err := u.read()
	if err != nil {
		return nil, err
	}
	u.set.Store(set)
	log.Info("users", "file", path, "count", len(set.users))
	return u, nil
}

// Reload reads the file again. If that fails, the users stay as they were.
func (u *Users) Reload() error {
	set, err := u.read()
	if err != nil {
		u.log.Error("cannot load the users file; the users remain as they were", "error", err)
		return err
	}
	u.set.Store(set)
	u.log.Info("reloaded the users file", "file", u.path, "count", len(set.users))
	return nil
}

func (u *Users) read() (*Set, error) {
	info, err := os.Stat(u.path)
	if err != nil {
		return nil, fmt.Errorf("users file: %w; `turnlog user add` makes one", err)
	}
	if !Private(info) {
		u.log.Warn("others on this machine can read or write the users file; chmod 600 it", "file", u.path, "mode",
			info.Mode().Perm())
	}
	text, err := descriptors.ReadFile(u.path)
	if err != nil {
		return nil, fmt.Errorf("users file: %w", err)
	}
	users, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("users file %s: %w", u.path, err)
	}
	set := newSet(users)
	if old := u.set.Load(); old != nil {
		set.inherit(old)
	}
	u.seen.keep(users)
	return set, nil
}

func newSet(users map[string]*User) *Set {
	set := &Set{users: users, most: 1, costs: make(map[cost]int)}
	for _, user := range users {
		set.most = max(set.most, len(user.passwords))
		own := make(map[cost]int)
		for _, sec := range user.passwords {
			own[sec.cost]++
			set.costs[sec.cost] = max(set.costs[sec.cost], own[sec.cost])
		}
	}
	if len(set.costs) == 0 {
		set.costs[ours()] = 1
	}
	return set
}

// inherit takes over the passwords that were proven.
func (s *Set) inherit(old *Set) {
	for name, user := range s.users {
		before := old.users[name]
		if before == nil {
			continue
		}
		for i := range user.passwords {
			for _, known := range before.passwords {
				if user.passwords[i].text == known.text {
					user.passwords[i] = known
				}
			}
		}
	}
}

// Current returns the users of the last good reading. Comparing it with an
// earlier one tells whether to look a user up again.
func (u *Users) Current() *Set { return u.set.Load() }

// Find returns the user of a login, nil if the user or the password is there no more.
func (s *Set) Find(l Login) *User {
	user := s.users[l.Name]
	if user == nil {
		return nil
	}
	for _, sec := range user.passwords {
		if sec.text == l.password {
			return user
		}
	}
	return nil
}

// Has reports whether there is a user of that name.
func (s *Set) Has(name string) bool { return s.users[name] != nil }

// Authenticate verifies the password of the user of that name. The error is Unauthorized if
// the name or the password is wrong, or Overloaded if too many unknown passwords wait to be
// verified. from is the address of the client: for the log, and to queue fairly.
func (u *Users) Authenticate(name, password, from string) (Login, error) {
	l, err := u.authenticate(name, password, from)
	if err != nil {
		u.note(name, from, err)
	}
	return l, err
}

// note logs a refusal, at most one a second.
func (u *Users) note(name, from string, err error) {
	if refused, ok := u.refusals.Pass(time.Now()); ok {
		u.log.Info("authentication rejected", "user", name[:min(len(name), 64)], "from", from, "error", err,
			"refused", refused)
	}
}

func (u *Users) authenticate(name, password, from string) (Login, error) {
	if password == "" || len(password) > MaxPassword || checkName(name) != nil {
		return Login{}, errDenied()
	}
	d := u.digest(name, password)
	if sec := u.set.Load().users[name].proven(d); sec != nil {
		return Login{name, sec.text}, nil
	}
	u.mu.Lock()
	f := u.flights[d]
	if f != nil {
		u.mu.Unlock()
		<-f.done
		return f.login, f.err
	}
	f = &flight{done: make(chan struct{})}
	u.flights[d] = f
	u.mu.Unlock()
	f.login, f.err = u.prove(name, password, from, d)
	u.mu.Lock()
	delete(u.flights, d)
	u.mu.Unlock()
	close(f.done)
	return f.login, f.err
}

// prove computes, in one of the slots.
func (u *Users) prove(name, password, from string, d digest) (Login, error) {
	now := u.set.Load()
	likely := u.seen.resembles(now.users[name].own(), now.most, name, password)
	began := time.Now()
	if !u.queue.enter(from, name, likely, u.maxWait) {
		// Told at once, a flood would ask again at once.
		time.Sleep(u.pause - time.Since(began))
		return Login{}, turn.Errorf(turn.Overloaded, "too many passwords wait to be verified; try again")
	}
	defer u.queue.leave()
	set := u.set.Load()
	left := maps.Clone(set.costs)
	for _, sec := range set.users[name].own() {
		left[sec.cost]--
		if u.proves(&sec.hashed, password) {
			sec.proven.Store(&d)
			u.seen.note(sec, name, password)
			return Login{name, sec.text}, nil
		}
	}
	for c, n := range left { // the time reveals neither whether a user exists nor which passwords it has
		for range n {
			u.proves(&hashed{cost: c, salt: make([]byte, 16), key: make([]byte, 32)}, password)
		}
	}
	return Login{}, errDenied()
}

// own returns the user's passwords: none for a user that does not exist.
func (u *User) own() []*password {
	if u == nil {
		return nil
	}
	return u.passwords
}

// proven returns the password that d was found to stand for.
func (u *User) proven(d digest) *password {
	if u == nil {
		return nil
	}
	for _, sec := range u.passwords {
		if p := sec.proven.Load(); p != nil && subtle.ConstantTimeCompare(p[:], d[:]) == 1 {
			return sec
		}
	}
	return nil
}

func (u *Users) digest(name, password string) (d digest) {
	m := hmac.New(sha256.New, u.pepper[:])
	m.Write([]byte(name))
	m.Write([]byte{0}) // no name has it
	m.Write([]byte(password))
	m.Sum(d[:0])
	return d
}

func errDenied() error {
	return turn.Errorf(turn.Unauthorized, "there is no such user, or the password is wrong")
}
