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
