package wire

import (
	"bytes"
	"testing"
)

// account is memory of which there is so much.
type account int

func (a *account) Take(n int) bool {
	if n > int(*a) {
		return false
	}
	*a -= account(n)
	return true
}

func (a *account) Give(n int) { *a += account(n) }

// put keeps as much of p as there is room for.
func put(k *kept, p []byte) (n int) {
	for n < len(p) {
		room := k.room()
		if room == nil {
			break
		}
		m := copy(room, p[n:])
		k.grew(m)
		n += m
	}
	return n
}

// What is kept is read in order, within the connection's bound and the memory that there is, all of
// which is given back.
func TestKeptIsBoundedAndReadInOrder(t *testing.T) {
	input := bytes.Repeat([]byte("0123456789abcde"), 10<<10)
	for _, c := range []struct {
		name             string
		max, memory, fit int
	}{
		{"the connection's bound", 3 * keptChunk, 100 * keptChunk, 3 * keptChunk},
		{"the memory that there is", 100 * keptChunk, 2*keptChunk + 1, 2 * keptChunk},
		{"no memory", keptChunk, 0, 0},
	} {
		memory := account(c.memory)
		k := kept{max: c.max, budget: &memory}
		if n := put(&k, input); n != c.fit {
			t.Fatalf("%s: %d bytes are kept, want %d", c.name, n, c.fit)
		}
		some := make([]byte, c.fit/3)
		k.read(some)
		again := put(&k, input[c.fit:]) // into the room of what was read
		if again != len(some) {
			t.Errorf("%s: %d more bytes are kept, want %d", c.name, again, len(some))
		}
		rest := make([]byte, c.fit)
		n := k.read(rest)
		if got := append(some, rest[:n]...); !bytes.Equal(got, input[:c.fit+again]) {
			t.Errorf("%s: what was kept is read otherwise", c.name)
		}
		if int(memory) != c.memory {
			t.Errorf("%s: %d bytes of memory are left, want %d", c.name, memory, c.memory)
		}
	}
}
