package turn

// Condition is what a transaction with All requires of a key. All conditions are checked against the
// state before the first step; if one does not hold, the error is Conflict.
type Condition struct {
	Key Key
	Is  ConditionIs
	N   uint64
}

// ConditionIs is the kind of a Condition.
type ConditionIs uint8

const (
	AtRevision ConditionIs = iota // the revision is N; 0: there is no such key
	AtSeq                         // the session's highest seq is N; 0: it never had a message, or does not exist
	Present                       // there is such a session or value
	Absent                        // there is none
)

// MaxAllSteps bounds the steps of a transaction with All, and its conditions.
const MaxAllSteps = 1000

// TransactionTime is how long, in milliseconds of cluster time, a transaction is recognised by its id.
const TransactionTime = 10 * 60 * 1000

// Keys returns the keys of a transaction with All: of its conditions, then of its steps.
func (o *Tx) Keys() (keys []Key) {
	for i := range o.Conditions {
		keys = append(keys, o.Conditions[i].Key)
	}
	for i := range o.Steps {
		keys = append(keys, allStepKeys(o.Steps[i].Op)...)
	}
	return keys
}

// Namespace returns the namespace of the keys of a transaction with All.
func (o *Tx) Namespace() string {
	for i := range o.Steps {
		for _, k := range allStepKeys(o.Steps[i].Op) {
			return k.Namespace
		}
	}
	return ""
}

// allStepKeys returns the keys of an operation that can be a step of a transaction with All.
func allStepKeys(op Op) []Key {
	switch o := op.(type) {
	case *Append:
		return []Key{o.Key}
	case *SetMetadata:
		return []Key{o.Key}
	case *Clear:
		return []Key{o.Key}
	case *Delete:
		return o.Keys
	case *Trim:
		return []Key{o.Key}
	case *Expire:
		return []Key{o.Key}
	case *SetFields:
		return []Key{o.Key}
	case *RemoveFields:
		return []Key{o.Key}
	}
	return nil
}

// validateAll checks what holds of transactions with All alone.
func (o *Tx) validateAll(l Limits) error {
	switch {
	case !o.All:
		return Errorf(Invalid, "conditions and an id are for transactions that take place as a whole")
	case len(o.Watch) > 0:
		return Errorf(Invalid, "a transaction that takes place as a whole has conditions, and watches no keys")
	case len(o.Steps) == 0:
		return Errorf(Invalid, "a transaction needs at least one step")
	case len(o.Steps) > MaxAllSteps || len(o.Conditions) > MaxAllSteps:
		return Errorf(TooLarge, "a transaction has at most %d steps and as many conditions", MaxAllSteps)
	case len(o.ID) > l.IDBytes:
		return Errorf(TooLarge, "the transaction's id has %d bytes, the limit is %d", len(o.ID), l.IDBytes)
	}
	namespace := ""
	within := func(k Key) error {
		if namespace == "" {
			namespace = k.Namespace
		}
		if k.Namespace != namespace {
			return Errorf(Invalid, "a transaction stays in one namespace")
		}
		return l.checkKey(k)
	}
	for i := range o.Conditions {
		c := &o.Conditions[i]
		if c.Is > Absent {
			return inCondition(Errorf(Invalid, "unknown condition"), i)
		}
		if err := within(c.Key); err != nil {
			return inCondition(AsError(err), i)
		}
	}
	messages, ids := 0, make(map[messageID]struct{})
	for i := range o.Steps {
		err := o.Steps[i].validateAll(within)
		if a, ok := o.Steps[i].Op.(*Append); ok && err == nil {
			messages += len(a.Messages)
			err = newIDs(a, ids)
		}
		if err != nil {
			return inStep(AsError(err), i)
		}
	}
	if messages > l.AppendMessages {
		return Errorf(TooLarge, "%d messages in one transaction, the limit is %d", messages, l.AppendMessages)
	}
	return nil
}

// messageID is the id of a message of a session.
type messageID struct {
	Key
	id string
}

// newIDs adds the ids of an append to those of the steps before it.
func newIDs(o *Append, ids map[messageID]struct{}) error {
	for i := range o.Messages {
		id := messageID{o.Key, o.Messages[i].ID}
		if id.id == "" {
			continue
		}
		if _, known := ids[id]; known {
			return Errorf(Invalid, "id %q occurs twice in one transaction", id.id)
		}
		ids[id] = struct{}{}
	}
	return nil
}

func inCondition(e *Error, i int) *Error {
	e.Condition = i + 1
	return e
}

func inStep(e *Error, i int) *Error {
	e.Step = i + 1
	return e
}

// validateAll checks a step of a transaction with All.
func (s *Step) validateAll(within func(Key) error) error {
	keys := allStepKeys(s.Op)
	if len(keys) == 0 {
		return Errorf(Invalid, "%T cannot be a step of a transaction that takes place as a whole", s.Op)
	}
	conditional := false
	switch o := s.Op.(type) {
	case *Append:
		conditional = o.Expect != nil || o.OnlyExisting || o.MustExist
	case *SetMetadata:
		conditional = o.Expect != nil
	case *Clear:
		conditional = o.Expect != nil
	case *Delete:
		conditional = o.Expect != nil
	case *Trim:
		conditional = o.Expect != nil
	case *Expire:
		conditional = o.Expect != nil || o.If != Always
	case *RemoveFields:
		if o.Type == TypeZSet {
			return Errorf(Invalid, "a sorted set cannot be changed by a transaction that takes place as a whole")
		}
	}
	if conditional {
		return Errorf(Invalid, "a step has no condition of its own: conditions are those of the transaction")
	}
	for _, k := range keys {
		if err := within(k); err != nil {
			return err
		}
	}
	return nil
}
