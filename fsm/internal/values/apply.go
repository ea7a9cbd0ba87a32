package values

import "github.com/turnlog/turnlog/turn"

// Apply applies an operation on a value to the keys. Of an operation that is none of this
// package's, it says that it is unknown.
func Apply(keys Keyspace, op turn.Op, r *turn.Result) error {
	v := ops{keys}
	switch o := op.(type) {
	case *turn.SetString:
		return v.setString(o, r)
	case *turn.AddInt:
		return v.addInt(o, r)
	case *turn.SetNew:
		return v.setNew(o, r)
	case *turn.SetFields:
		return v.setFields(o, r)
	case *turn.RemoveFields:
		return v.removeFields(o, r)
	case *turn.AddToField:
		return v.addToField(o, r)
	case *turn.SetScores:
		return v.setScores(o, r)
	case *turn.RemoveScores:
		return v.removeScores(o, r)
	case *turn.StoreSets:
		return v.storeSets(o, r)
	case *turn.AddEntry:
		return v.addEntry(o, r)
	case *turn.TrimEntries:
		return v.trimEntries(o, r)
	case *turn.RemoveEntries:
		return v.removeEntries(o, r)
	}
	return turn.Errorf(turn.Newer, "operation %T is unknown", op)
}
