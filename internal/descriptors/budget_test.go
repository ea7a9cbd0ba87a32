package descriptors

import (
	"strings"
	"testing"
)

func TestBudgetOfTheSmallestProcess(t *testing.T) {
	none := func() int { return 0 }
	if err := New(Least, none).Check(); err != nil {
		t.Errorf("as many as are needed: %v", err)
	}
	if err := New(Least-1, none).Check(); err == nil || !strings.Contains(err.Error(), "ulimit") {
		t.Errorf("one less: %v", err)
	}
	if err := New(1024, func() int { return 1000 }).Check(); err == nil {
		t.Error("data that takes all of them is accepted")
	}
}

func TestPools(t *testing.T) {
	files := 0
	b := New(256, func() int { return files })
	one, other := b.Pool(), b.Pool()
	count := func(p *Pool) (n int) {
		for p.Take() {
			n++
		}
		return n
	}
	first := count(one)
	second := count(other)
	if first != one.Size() || second == 0 || first+second != b.Clients() || b.Clients()+b.Reserved() != b.Limit() {
		t.Errorf("%d and %d of %d are taken, %d are reserved of %d", first, second, b.Clients(),
			b.Reserved(), b.Limit())
	}
	other.Release()
	if !other.Take() || other.Take() {
		t.Error("one was given back, and cannot be taken once")
	}
	for range second {
		other.Release()
	}
	files = second // the data grows: clients that are connected stay, and no more come
	if other.Take() {
		t.Error("data and clients together take more than there are")
	}
	var unbounded *Pool
	if !unbounded.Take() {
		t.Error("a pool without a bound has one")
	}
}

// Users who are no administrators leave some descriptors, of all pools together, to
// those who are; strangers of another pool give way while a pool is not full.
func TestDescriptorsForAdministrators(t *testing.T) {
	b := New(256, func() int { return 0 })
	one, other := b.Pool(), b.Pool()
	users := 0
	for _, p := range []*Pool{one, other} {
		for p.Take() {
			if p.Know(false) {
				users++
			}
		}
	}
	if want := b.Clients() - b.Clients()/8; users != want {
		t.Errorf("%d users came in, want %d", users, want)
	}
	if !other.Know(true) || other.Know(false) {
		t.Error("what is left is not for administrators")
	}
	strangers := 1
	one.Yields(func() bool {
		if strangers == 0 {
			return false
		}
		strangers--
		one.Release()
		return true
	})
	if !other.MakeRoom() || !other.Take() || other.MakeRoom() {
		t.Error("one stranger of the other pool does not give way once")
	}
	strangers = 1
	if one.MakeRoom() {
		t.Error("a pool is its own stranger")
	}
	for range users - one.Size() {
		one.Forget()
	}
}
