package cursors

import (
	"strconv"
	"testing"
)

// A node remembers the newest numbers, and no more than that; the end of an iteration is 0.
func TestTableRemembersTheNewest(t *testing.T) {
	var table Table
	if n := table.Give("ns", ""); n != 0 {
		t.Errorf("the end is %d", n)
	}
	var numbers []uint64
	for i := range kept + 10 {
		numbers = append(numbers, table.Give("ns", strconv.Itoa(i)))
	}
	for i, n := range numbers {
		if n != Number("ns", strconv.Itoa(i)) || n == 0 || n >= 1<<53 {
			t.Fatalf("number %d is %d", i, n)
		}
		if key, ok := table.Find(n); ok != (i >= 10) || ok && key != strconv.Itoa(i) {
			t.Fatalf("cursor %d is %q (%v)", i, key, ok)
		}
	}
	if len(table.place) != kept {
		t.Errorf("%d are remembered", len(table.place))
	}
}
