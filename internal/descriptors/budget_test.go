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
		t.Errorf("%d and %d of %d are taken, %d are reserved of %d", first, second, b.Clients(), b.Reserved(), b.Limit())
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
