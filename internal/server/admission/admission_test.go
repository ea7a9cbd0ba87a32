package admission

import (
	"math"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// crowd opens connections at a Control, and notes which of them had to give way.
type crowd struct {
	t       *testing.T
	control *Control
	gone    []string
	places  map[string]*Place
}

func newCrowd(t *testing.T, most int, d *descriptors.Pool) *crowd {
	return &crowd{t: t, control: New(most, d), places: make(map[string]*Place)}
}

// comes opens an unauthenticated connection.
func (c *crowd) comes(name string) *Place {
	c.t.Helper()
	p := c.control.Admit()
	if p == nil {
		c.t.Fatalf("%s was turned away", name)
	}
	c.places[name] = p
	c.waits(name)
	return p
}

func (c *crowd) waits(name string) {
	c.places[name].SetUnauthenticated(func() { c.gone = append(c.gone, name) })
}

func (c *crowd) wantGone(names ...string) {
	c.t.Helper()
	if len(c.gone) != len(names) {
		c.t.Fatalf("%q gave way, want %q", c.gone, names)
	}
	for i := range names {
		if c.gone[i] != names[i] {
			c.t.Fatalf("%q gave way, want %q", c.gone, names)
		}
	}
}

func TestOldestGivesWay(t *testing.T) {
	c := newCrowd(t, 16, nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		c.comes(name)
	}
	c.wantGone()
	if !c.places["a"].Authenticate(false) {
		t.Fatal("a is rejected")
	}
	c.waits("a") // again unauthenticated, now the newest
	c.waits("b") // it is, for as long as before
	if c.control.CloseOldest(5) {
		t.Error("one gave way although there are 4")
	}
	c.comes("e")
	c.comes("f")
	c.wantGone("b", "c")
	c.waits("b") // one that gave way comes back as none
	if !c.places["b"].Authenticate(false) || c.places["b"].Authenticated() {
		t.Error("a connection that gave way is told to go, or counts as a user's")
	}
	for range 4 {
		c.control.CloseOldest(0)
	}
	c.wantGone("b", "c", "d", "a", "e", "f")
	if c.control.CloseOldest(0) {
		t.Error("one gave way although there are none")
	}
}

// Users keep their connections: who has yet to authenticate gives way to a new one, and if there is none left, the new
// one is turned away.
func TestUsersStay(t *testing.T) {
	c := newCrowd(t, 4, nil)
	for _, name := range []string{"a", "b", "c"} {
		if !c.comes(name).Authenticate(true) {
			t.Fatalf("administrator %s is rejected", name)
		}
	}
	c.comes("d")
	c.comes("e") // in place of d
	c.wantGone("d")
	if !c.places["e"].Authenticate(true) {
		t.Fatal("e is rejected")
	}
	if c.control.Admit() != nil {
		t.Error("there are 5 connections")
	}
	c.places["a"].Close()
	c.places["a"].Close()
	c.comes("f")
	c.comes("g")
	c.wantGone("d", "f")
}

// The last places are for administrators; those of connections that have yet to authenticate count as free.
func TestPlacesForAdministrators(t *testing.T) {
	for most, want := range map[int]int{16: 14, 1000: 968} {
		c := newCrowd(t, most, nil)
		users := 0
		for ; c.comes("").Authenticate(false); users++ {
		}
		if users != want {
			t.Errorf("a user has %d of %d connections, want %d", users, most, want)
		}
		if !c.comes("root").Authenticate(true) {
			t.Error("an administrator is rejected")
		}
	}
}

// Every connection takes a descriptor, and a user's one of those for users, until it is closed or gives way.
func TestDescriptorsAreGivenBack(t *testing.T) {
	budget := descriptors.New(256, func() int { return 0 })
	pool := budget.Pool()
	c := newCrowd(t, math.MaxInt, pool)
	if c.control.Size() != pool.Size() {
		t.Errorf("there may be %d connections, and %d descriptors", c.control.Size(), pool.Size())
	}
	for range 3 * budget.Clients() { // more than there are, one after the other
		c.comes("waits")
		p := c.comes("user")
		if !p.Authenticate(false) {
			t.Fatal("a user is rejected")
		}
		c.waits("user")
		if !p.Authenticate(false) {
			t.Fatal("a user is rejected the second time")
		}
		p.Close()
	}
	for c.control.CloseOldest(0) {
	}
	if n := budget.Taken(); n != 0 {
		t.Errorf("%d descriptors are taken", n)
	}
}

// Where other connections have the descriptors, one that has yet to authenticate gives way, at this server or else at
// another.
func TestDescriptorsOfOthers(t *testing.T) {
	budget := descriptors.New(256, func() int { return 0 })
	pool, other := budget.Pool(), budget.Pool()
	theirs := newCrowd(t, math.MaxInt, other)
	other.Yields(func() bool { return theirs.control.CloseOldest(1) })
	theirs.comes("theirs")
	for other.Take() {
	}
	c := newCrowd(t, math.MaxInt, pool)
	c.comes("first")
	for budget.Taken() < budget.Clients() && pool.Take() {
	}
	if !c.comes("second").Authenticate(true) {
		t.Fatal("an administrator is rejected")
	}
	c.wantGone("first")
	if New(0, pool).Admit() != nil {
		t.Error("a server without places admits a connection")
	}
	theirs.wantGone() // a descriptor would have been of no use
	if !c.comes("third").Authenticate(true) {
		t.Fatal("an administrator is rejected")
	}
	theirs.wantGone("theirs")
	if c.control.Admit() != nil {
		t.Error("there is one more descriptor than there are")
	}
}

// What a user's connection asks of its place for each request takes no lock that others hold.
func TestUsersTakeNoLock(t *testing.T) {
	c := newCrowd(t, 4, nil)
	p := c.comes("a")
	p.Authenticate(false)
	c.control.mu.Lock()
	defer c.control.mu.Unlock()
	done := make(chan bool, 1)
	go func() { done <- p.Authenticate(false) && p.Authenticated() }()
	select {
	case ok := <-done:
		if !ok {
			t.Error("a user is rejected")
		}
	case <-time.After(20 * time.Second):
		t.Error("a user's connection waits for a lock")
	}
}

// A connection of the process itself has no place to give back.
func TestNoPlace(*testing.T) { (*Place)(nil).Close() }
