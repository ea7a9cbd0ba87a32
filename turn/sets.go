package turn

// SetsBy says how sets are combined.
type SetsBy uint8

const (
	Intersection SetsBy = iota // the members that all sets have
	Union                      // the members that any of the sets has
	Difference                 // the members of the first set that none of the others has
)

// CombineSets combines sets, all as of one state. A key that does not exist is a set without members; one of another
// type is WrongType. A combination that looks at too many members, or has too many, is TooLarge.
// Result: Elements, in byte order of their names; with OnlyCount just Count.
type CombineSets struct {
	Keys []Key // 1 to 1,000, of one namespace
	By   SetsBy
	// OnlyCount counts the members, up to Limit unless that is 0.
	OnlyCount bool
	Limit     uint64
}

// StoreSets gives To the members of a combination of sets, in place of whatever it held. A combination without members
// deletes it. Result: Count, of the members; Removed is 1 if that deleted To; Revision.
type StoreSets struct {
	To Key // same namespace
	Of CombineSets
}

// Lookup tells of several keys whether they exist, as Redis sees it, all as of one state.
// Result: Elements, one for each key in the same order, some of them Missing.
type Lookup struct {
	Keys []Key // 1 to MaxLookup
	// Strings answers with the value of each key that holds a string; any other is Missing.
	Strings bool
}

// MaxLookup bounds the keys of one Lookup.
const MaxLookup = 10_000

func (q *CombineSets) Validate(l Limits) error {
	switch {
	case len(q.Keys) == 0 || len(q.Keys) > maxEraseSessions:
		return Errorf(Invalid, "1 to %d sets are combined, not %d", maxEraseSessions, len(q.Keys))
	case q.By > Difference:
		return Errorf(Invalid, "sets have an intersection, a union or a difference")
	case q.Limit > 0 && !q.OnlyCount:
		return Errorf(Invalid, "only a count has a limit")
	}
	for _, k := range q.Keys {
		if k.Namespace != q.Keys[0].Namespace {
			return Errorf(Invalid, "sets of several namespaces cannot be combined")
		}
		if err := l.checkKey(k); err != nil {
			return err
		}
	}
	return nil
}

func (o *StoreSets) Validate(l Limits) error {
	if err := o.Of.Validate(l); err != nil {
		return err
	}
	if o.Of.OnlyCount {
		return Errorf(Invalid, "a count cannot be stored")
	}
	if o.To.Namespace != o.Of.Keys[0].Namespace {
		return Errorf(Invalid, "a combination of sets stays in its namespace")
	}
	return l.checkKey(o.To)
}

func (q *Lookup) Validate(l Limits) error {
	if len(q.Keys) == 0 || len(q.Keys) > MaxLookup {
		return Errorf(TooLarge, "1 to %d keys are looked up at once, not %d", MaxLookup, len(q.Keys))
	}
	for _, k := range q.Keys {
		if err := l.checkKey(k); err != nil {
			return err
		}
	}
	return nil
}
