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
	return laterStepKeys(op)
}

// laterStepKeys returns the keys of an operation that can be a step since Level3.
func laterStepKeys(op Op) []Key {
	switch o := op.(type) {
	case *Pop:
		return []Key{o.Key}
	case *EditMessage:
		return []Key{o.Key}
	case *RemoveMessage:
		return []Key{o.Key}
	case *Replace:
		return []Key{o.Key}
	case *Retain:
		return []Key{o.Key}
	case *Rename:
		return []Key{o.Key, o.To}
	}
	return nil
}

// Later reports whether s can be a step of a transaction with All only since Level3.
func (s *Step) Later() bool { return len(laterStepKeys(s.Op)) > 0 }

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
	messages, ids, order := 0, make(map[messageID]struct{}), newStepOrder()
	for i := range o.Steps {
		op := o.Steps[i].Op
		err := o.Steps[i].validateAll(within)
		if err == nil {
			err = order.next(op, allStepKeys(op))
		}
		if err == nil {
			k, added := messagesOf(op)
			messages += len(added)
			err = newIDs(k, added, ids)
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

// messagesOf returns the messages that a step adds to a session.
func messagesOf(op Op) (Key, []NewMessage) {
	switch o := op.(type) {
	case *Append:
		return o.Key, o.Messages
	case *Replace:
		return o.Key, o.Messages
	}
	return Key{}, nil
}

// newIDs adds the ids of messages that a step adds to those of the steps before it.
func newIDs(k Key, messages []NewMessage, ids map[messageID]struct{}) error {
	for i := range messages {
		id := messageID{k, messages[i].ID}
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
	if o, ok := s.Op.(*RemoveFields); ok && o.Type == TypeZSet {
		return Errorf(Invalid, "a sorted set cannot be changed by a transaction that takes place as a whole")
	}
	if s.conditional() {
		return Errorf(Invalid, "a step has no condition of its own: conditions are those of the transaction")
	}
	for _, k := range keys {
		if err := within(k); err != nil {
			return err
		}
	}
	return nil
}

// conditional reports whether a step has a condition.
func (s *Step) conditional() bool {
	switch o := s.Op.(type) {
	case *Append:
		return o.Expect != nil || o.OnlyExisting || o.MustExist
	case *SetMetadata:
		return o.Expect != nil
	case *Clear:
		return o.Expect != nil
	case *Delete:
		return o.Expect != nil
	case *Trim:
		return o.Expect != nil
	case *Expire:
		return o.Expect != nil || o.If != Always
	case *Pop:
		return o.Expect != nil
	case *EditMessage:
		return o.Expect != nil
	case *RemoveMessage:
		return o.Expect != nil
	case *Replace:
		return o.Expect != nil
	case *Retain:
		return o.Expect != nil
	case *Rename:
		return o.Expect != nil
	}
	return false
}
