package values

import (
	"cmp"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// manyNames is from how many elements on they are put in order before the state is locked.
const manyNames = 64

// OrderNames puts the elements that an operation names in order, those with equal names in
// the order that they had. That changes nothing in what the operation does, but the state is
// locked for a shorter time: each element is looked for, and written, where all are in order,
// so that what the next one needs is in the processor's cache. Members of sorted sets are left
// as they are: they have another order, by score, too.
func OrderNames(op turn.Op) {
	switch o := op.(type) {
	case *turn.SetFields:
		orderBy(o.Fields, func(f *turn.Field) string { return f.Name })
	case *turn.RemoveFields:
		orderBy(o.Names, func(name *string) string { return *name })
	case *turn.Tx:
		for i := range o.Steps {
			OrderNames(o.Steps[i].Op)
		}
	}
}

func orderBy[E any](es []E, name func(*E) string) {
	if len(es) < manyNames || slices.IsSortedFunc(es, func(a, b E) int { return cmp.Compare(name(&a), name(&b)) }) {
		return
	}
	type place struct {
		name string
		at   int
	}
	places := make([]place, len(es))
	for i := range es {
		places[i] = place{name(&es[i]), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.name, b.name), a.at-b.at)
	})
	old := slices.Clone(es)
	for i, p := range places {
		es[i] = old[p.at]
	}
}
