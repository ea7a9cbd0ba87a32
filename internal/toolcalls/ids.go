package toolcalls

import "slices"

// IDs are the ids that a message has which another one may have, too: of calls whose results it does not hold
// itself, and the other way round. An id is kept as a hash of 64 bits, which is never 0. Two ids
// with one hash can let a cut part a call from its result, in that session only.
type IDs struct {
	Calls, Results []uint64
	More           bool // there are more than MaxIDs of calls or results; those beyond are left out
}

// Of returns the ids in a payload.
func Of(data []byte) (ids IDs) {
	if !Mentioned(data) {
		return ids
	}
	var calls, results []uint64
	add := func(list *[]uint64, id uint64) {
		switch {
		case slices.Contains(*list, id):
		case len(*list) == MaxIDs:
			ids.More = true
		default:
			*list = append(*list, id)
		}
	}
	scan(data, func(id []byte, result bool) {
		if ids.More {
			return
		}
		if result {
			add(&results, hash(id))
		} else {
			add(&calls, hash(id))
		}
	})
	ids.Calls, ids.Results = without(calls, results), without(results, calls)
	return ids
}

// without returns those of ids that are not among others.
func without(ids, others []uint64) (left []uint64) {
	for _, id := range ids {
		if !slices.Contains(others, id) {
			left = append(left, id)
		}
	}
	return left
}

// None reports whether there are no ids.
func (x *IDs) None() bool { return len(x.Calls) == 0 && len(x.Results) == 0 && !x.More }

// hash is FNV-1a.
func hash(id []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range id {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return max(h, 1)
}
