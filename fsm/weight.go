package fsm

import "github.com/turnlog/turnlog/turn"

// EntryWeight is the most that the operations of one entry may weigh together, so that its
// allowance suffices for all of them: see Weight.
const EntryWeight = 256

// searchWeight is the weight of a search: as many fit into an entry as its allowance
// covers, if each passes as many messages as a fork may copy.
const searchWeight = EntryWeight / 12

// Weight estimates, from the operation alone, how much of an entry's allowance it will
// need: EntryWeight if it may need all, 0 if none. A removed message counts as 1, which
// covers 300 KB. The leader packs entries by it. The estimate can be too low: after an
// operation on larger messages or a longer list, later ones of the entry are rejected.
func Weight(op turn.Op) int {
	switch o := op.(type) {
	case *turn.Fork, *turn.InsertElement:
		return EntryWeight
	case *turn.Pop:
		return taking(o.Count)
	case *turn.PopFirst:
		return taking(o.Count)
	case *turn.SetElement, *turn.RemoveElements:
		return searchWeight
	case *turn.MoveElement, *turn.SetMeta:
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
			}
		}
		return min(sum, EntryWeight)
	}
	return 0
}

func taking(messages uint64) int { return int(min(messages, EntryWeight)) }
