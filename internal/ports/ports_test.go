package ports

import (
	"slices"
	"testing"
)

// A port stays reserved while nothing listens on it, until it is released.
func TestReservedPortsDiffer(t *testing.T) {
	a, b := Reserved{First: 31_900, Last: 31_939}, Reserved{First: 31_900, Last: 31_939}
	defer a.Release()
	defer b.Release()
	held, err := a.Addrs(15)
	if err != nil {
		t.Fatal(err)
	}
	others, err := b.Addrs(10)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range others {
		if slices.Contains(held, addr) {
			t.Errorf("%s is reserved twice", addr)
		}
	}
	if err := b.reserve(held[0]); err == nil {
		t.Errorf("%s was reserved again", held[0])
	}
	a.Release()
	if err := b.reserve(held[0]); err != nil {
		t.Errorf("after its release: %v", err)
	}
}

// Ports in a row are reserved like others; where one of them is not to be had, none is.
func TestReservedRows(t *testing.T) {
	a, b := Reserved{First: 31_700, Last: 31_799}, Reserved{First: 31_700, Last: 31_799}
	defer a.Release()
	defer b.Release()
	taken := map[int]bool{}
	for _, r := range []*Reserved{&a, &b, &a, &b} {
		base, err := r.Row(10)
		if err != nil {
			t.Fatal(err)
		}
		for port := base; port < base+10; port++ {
			if taken[port] || port < 31_700 || port > 31_799 {
				t.Errorf("a row from %d, with %v", base, taken)
			}
			taken[port] = true
			if err := a.reserve(loopback(port)); err == nil {
				t.Errorf("%d was reserved again", port)
			}
		}
	}
	held := len(b.locks)
	if base, err := b.Row(100); err == nil {
		t.Errorf("a row from %d, of which others hold ports", base)
	}
	if len(b.locks) != held {
		t.Errorf("%d ports of no row are still held", len(b.locks)-held)
	}
}
