package httpapi

import "testing"

// What is taken is given back to the last byte, to all and to each, and who holds nothing is forgotten.
func TestMemoryIsCounted(t *testing.T) {
	m := memory{each: 10, held: map[string]int64{}}
	m.left.Store(15)
	for i, c := range []struct {
		who string
		n   int64
		ok  bool
	}{
		{"a", 11, false}, {"a", 10, true}, {"a", 1, false}, {"a", 0, true}, {"b", 6, false}, {"b", 5, true},
		{"c", 1, false},
		{"c", 0, true}, {"a", -1, true}, {"c", 1, true}, {"a", -9, true}, {"b", -5, true}, {"c", -1, true},
	} {
		if got := m.take(c.who, c.n); got != c.ok {
			t.Errorf("step %d: %s takes %d: %v", i+1, c.who, c.n, got)
		}
	}
	if m.left.Load() != 15 || len(m.held) != 0 {
		t.Errorf("%d of 15 bytes are left, held by %v", m.left.Load(), m.held)
	}
}
