package fsm

import "github.com/turnlog/turnlog/turn"

// EntryWeight is the most that the operations of one entry may weigh together, so that its
// allowance suffices for all of them: see Weight.
const EntryWeight = 256

// searchWeight is the weight of a search: as many fit into an entry as its allowance
// covers, if each passes as many messages as a fork may copy.
const searchWeight = EntryWeight / 12

// Weight estimates, from the operation alone, how much of an entry's allowance the operation will need:
// EntryWeight if it may need all of it, 0 if it needs none. A removed message counts as 1, which covers
// 300 KB. The leader packs entries by it. The estimate can be too low: after an operation on larger
// messages or a longer list, later ones of the entry are rejected.
func Weight(op turn.Op) int {
	switch o := op.(type) {
	case *turn.Fork, *turn.Rename, *turn.InsertElement:
		return EntryWeight
	case *turn.Pop:
		return taking(o.Count)
	case *turn.PopFirst:
		return taking(o.Count)
	case *turn.SetElement, *turn.RemoveElements, *turn.Retain:
		return searchWeight
	case *turn.StoreSets:
		return setsWeight
	case *turn.MoveElement, *turn.SetMetadata:
		return 1
	case *turn.SetString:
		if o.Get {
			return 1
		}
	case *turn.Tx:
		sum := 0
		for i := range o.Steps {
			if op := o.Steps[i].Op; op != nil {
				sum += Weight(op)
			} else {
				sum += queryWeight(o.Steps[i].Query)
			}
		}
		return min(sum, EntryWeight)
	}
	return 0
}

// rangeWeight is the weight of a step that asks for a range: as if it had 1.3 MB, or passed
// 20,000 messages or 80,000 elements in search of it.
const rangeWeight = EntryWeight / 64

// setsWeight is the weight of a combination of sets: as if it had 10 MB of members, or looked at 160,000 of
// several sets.
const setsWeight = EntryWeight / 8

func queryWeight(q turn.Query) int {
	switch q.(type) {
	case *turn.Info, *turn.Count:
		return 0
	case *turn.GetString, *turn.Fields:
		return 1
	case *turn.CombineSets:
		return setsWeight
	}
	return rangeWeight
}

func taking(messages uint64) int { return int(min(messages, EntryWeight)) }
