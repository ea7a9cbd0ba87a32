package turn

// Tx applies steps one after another, with nothing in between, if no watched key was changed. If a step
// fails, the steps before it are not undone, and those after it still take place: each has its own
// outcome, as in Redis's EXEC. A query among the steps is answered from the state that the steps before
// it leave.
//
// Result: Steps, one outcome for each; or Aborted, if nothing took place.
//
// With All, every step takes place or none does: see Condition.
type Tx struct {
	Watch []Watched
	Steps []Step
	// All makes the transaction take place as a whole or not at all. The conditions are checked first.
	// If one does not hold, or a step is rejected, nothing takes place, and the error says which one
	// (Error.Condition, Error.Step). Result: Steps, Revision, Duplicate.
	//
	// What each step does is decided beforehand. Therefore, of the steps on one session, those that edit or remove one
	// message come before those that add or remove others, and name the message as the session holds it before
	// the transaction. A Pop, and a Retain of turns, come before all others that change messages. A Delete ends that:
	// behind it, the session is a new one. A key of a Rename, from or to, is in no other step. Pops take
	// out MaxPopped bytes at most.
	All        bool
	Conditions []Condition // only with All
	// ID identifies the transaction among those of the same keys (Keys, in any order); before Level4, among all of its
	// namespace. Only with All. A transaction that took place is recognised by its id for TransactionTime: it is not
	// carried out again, and the answer is the first one, with Duplicate set. The same id with a different transaction
	// is IDReused.
	ID string
}

// Watched is a condition of a transaction: the revision of the key's session or value is still
// Revision, 0 if there was none. A key that was deleted and created again has another revision.
type Watched struct {
	Key      Key
	Revision uint64
}

// Step is either an operation other than Tx, or a query.
type Step struct {
	Op    Op
	Query Query
}

// Outcome is the outcome of a step. Once the steps' answers exceed ReadBytes of DefaultLimits (whatever
// is configured), further queries fail with TooLarge.
type Outcome struct {
	Result Result
	Err    *Error // nil: it took place
}

// MaxSteps bounds the steps of a transaction and the keys that it watches.
const MaxSteps = 10_000

func (o *Tx) Validate(l Limits) error {
	if o.All || len(o.Conditions) > 0 || o.ID != "" {
		if err := o.validateAll(l); err != nil {
			return err
		}
	}
	if len(o.Steps) > MaxSteps || len(o.Watch) > MaxSteps {
		return Errorf(TooLarge, "a transaction has at most %d steps and watches as many keys", MaxSteps)
	}
	for i := range o.Watch {
		if err := l.checkKey(o.Watch[i].Key); err != nil {
			return err
		}
	}
	total := 0
	for i := range o.Steps {
		s := &o.Steps[i]
		if (s.Op == nil) == (s.Query == nil) {
			return Errorf(Invalid, "step %d of the transaction must be an operation or a query", i+1)
		}
		if _, nested := s.Op.(*Tx); nested {
			return Errorf(Invalid, "a transaction cannot be a step of another")
		}
		if err := s.validate(l); err != nil {
			return err
		}
		total += payload(s.Op)
	}
	return l.checkTogether(total)
}

func (s *Step) validate(l Limits) error {
	if s.Op != nil {
		return s.Op.Validate(l)
	}
	return s.Query.Validate(l)
}

// payload returns the bytes of the messages and elements that op brings.
func payload(op Op) (n int) {
	switch o := op.(type) {
	case *Append:
		for i := range o.Messages {
			n += len(o.Messages[i].Data)
		}
	case *Replace:
		for i := range o.Messages {
			n += len(o.Messages[i].Data)
		}
	case *SetString:
		n = len(o.Value)
	case *SetFields:
		n = fieldBytes(o.Fields)
	case *AddEntry:
		n = fieldBytes(o.Fields)
	case *RemoveFields:
		for _, name := range o.Names {
			n += len(name)
		}
	case *SetScores:
		for i := range o.Members {
			n += len(o.Members[i].Member)
		}
	case *SetElement:
		n = len(o.Data)
	case *EditMessage:
		n = len(o.Data)
	case *InsertElement:
		n = len(o.Pivot) + len(o.Data)
	case *RemoveElements:
		n = len(o.Data)
	case *PushOnce:
		for i := range o.Messages {
			n += len(o.Messages[i].Data)
		}
	case *SetNew:
		for _, v := range o.Values {
			n += len(v)
		}
	}
	return n
}

func fieldBytes(fs []Field) (n int) {
	for i := range fs {
		n += len(fs[i].Name) + len(fs[i].Value)
	}
	return n
}
