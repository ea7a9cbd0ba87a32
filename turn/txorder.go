package turn

// MaxPopped bounds what the messages have in bytes together that pops take out in one transaction with All, each
// message counted with its id and 96 bytes more: the answer is remembered with the transaction's id.
const MaxPopped = 9 << 20

// stepOrder finds steps of a transaction with All of which it could not be known, before the first one takes
// place, what they do.
type stepOrder struct {
	sessions map[Key]sessionSteps
	keys     map[Key]bool // of the steps; true: renamed, from or to
}

// sessionSteps is what steps make of the messages of a session.
type sessionSteps uint8

const (
	unchanged sessionSteps = iota // they are as before the first step, or the session is deleted
	edited                        // some are edited or removed one by one
	changed
)

func newStepOrder() stepOrder { return stepOrder{make(map[Key]sessionSteps), make(map[Key]bool)} }

// next adds a step, which has these keys, or returns why it cannot come after the others.
func (s *stepOrder) next(op Op, keys []Key) error {
	_, renames := op.(*Rename)
	for _, k := range keys {
		if renamed, known := s.keys[k]; known && (renames || renamed) {
			return Errorf(Invalid, "a key that is renamed, or renamed to, is in no other step of a transaction that "+
				"takes place as a whole")
		}
	}
	for _, k := range keys {
		s.keys[k] = renames
	}
	to, latest, what := changed, changed, ""
	switch o := op.(type) {
	case *EditMessage:
		to, latest, what = edited, edited, "edits one message comes before those that add or remove others"
	case *RemoveMessage:
		to, latest, what = edited, edited, "removes one message comes before those that add or remove others"
	case *Pop:
		latest, what = unchanged, "pops messages comes before those that change messages"
	case *Retain:
		if o.Keep.Turns > 0 {
			latest, what = unchanged, "sets a retention by turns comes before those that change messages"
		}
	case *Delete:
		to = unchanged
	case *Append, *Replace, *Trim, *Clear:
	default:
		return nil
	}
	if s.sessions[keys[0]] > latest {
		return Errorf(Invalid, "in a transaction that takes place as a whole, a step that %s of the same session", what)
	}
	for _, k := range keys {
		s.sessions[k] = to
	}
	return nil
}
