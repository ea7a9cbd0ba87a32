package strangers

import "testing"

func TestOldestGivesWay(t *testing.T) {
	var q Queue[string]
	places := make(map[string]*Place[string])
	for _, c := range []string{"a", "b", "c", "d"} {
		places[c] = new(Place[string])
		q.Meet(c, places[c])
	}
	if q.Forget(places["a"]) {
		t.Error("a was told that it gave way")
	}
	q.Meet("a", places["a"]) // again a stranger, now the newest
	if c, ok := q.TakeOldest(5); ok {
		t.Errorf("%s gave way although there are 4 strangers", c)
	}
	for _, want := range []string{"b", "c", "d"} {
		if c, ok := q.TakeOldest(0); !ok || c != want {
			t.Errorf("%q gave way (%v), want %q", c, ok, want)
		}
	}
	q.Meet("b", places["b"])
	if n := q.Len(); n != 1 {
		t.Errorf("%d strangers, want 1: one that gave way comes back as none", n)
	}
	if !q.Forget(places["b"]) {
		t.Error("b was not told that it gave way")
	}
	q.Forget(places["a"])
	if c, ok := q.TakeOldest(0); ok {
		t.Errorf("%s gave way although there are no strangers", c)
	}
}
