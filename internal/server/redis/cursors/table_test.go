package cursors

import (
	"strconv"
	"testing"
)

// A node remembers the newest numbers of a user, and no more than that; the end of an iteration is 0.
func TestTableRemembersTheNewest(t *testing.T) {
	var tables Tables
	table := tables.Of("ann")
	if n := table.Give("ns", ""); n != 0 {
		t.Errorf("the end is %d", n)
	}
	mine := tables.Of("bob").Give("ns", "bob's")
	var numbers []uint64
	for i := range kept + 10 {
		numbers = append(numbers, table.Give("ns", strconv.Itoa(i)))
	}
	for i, n := range numbers {
		if n != Number("ns", strconv.Itoa(i)) || n == 0 || n >= 1<<53 {
			t.Fatalf("number %d is %d", i, n)
		}
		if key, ok := table.Find("ns", n); ok != (i >= 10) || ok && key != strconv.Itoa(i) {
			t.Fatalf("cursor %d is %q (%v)", i, key, ok)
		}
	}
	if _, ok := table.Find("elsewhere", numbers[kept]); ok {
		t.Error("a cursor is one elsewhere, too")
	}
	if len(table.places.names) != kept || len(table.places.given) != kept {
		t.Errorf("%d are remembered", len(table.places.names))
	}
	if _, ok := tables.Of("bob").Find("ns", mine); !ok {
		t.Error("what others do makes the node forget a user's cursor")
	}
}

// A search is remembered by where it is and for what.
func TestTableRemembersSearches(t *testing.T) {
	var tables Tables
	table := tables.Of("")
	table.NoteSearched("ns", 5, "m")
	if got := table.Searched("ns", 5); got != "m" {
		t.Errorf("searched up to %q", got)
	}
	if a, b := table.Searched("ns", 6), table.Searched("other", 5); a != "" || b != "" {
		t.Errorf("other searches have come to %q and %q", a, b)
	}
	table.NoteSearched("ns", 5, "")
	if got := table.Searched("ns", 5); got != "" {
		t.Errorf("a search that has ended is at %q", got)
	}
}
