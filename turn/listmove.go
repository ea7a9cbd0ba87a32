package turn

// PopFirst removes elements from one end of the first nonempty list among several, as Redis's LMPOP
// does. A list that becomes empty loses its deadline. A key before it that holds another type is
// WrongType. Result: Found, and if so Number, the list's place among Keys, Messages in the order of
// removal, Count (held after it), Revision.
type PopFirst struct {
	Keys  []Key // 1 to 1,000
	From  Side  // Tail or Head
	Count uint64
}

// MoveElement removes the element at one end of a list and pushes it on one of
// another list, or of the same. It is a new message there, without an id. Result: Found, whether
// there was one, and Messages, that one.
type MoveElement struct {
	Key      Key
	To       Key // same namespace
	From, On Side
}

// PushOnce appends as Append does, but recognises a repeated message only if the session still holds
// it, or dropped it by itself: ids are not looked up among removed messages. If Key was renamed since, in the last
// TombstoneTime and at most eight times, a push that comes again as it was is recognised by what is held of it under
// the new key; its messages must have come by one operation, in this order. Result: as Append; Count is of Key.
type PushOnce struct {
	Key          Key
	Messages     []NewMessage
	Side         Side
	OnlyExisting bool
}

// SetNew sets several keys to strings, if none of the keys exists. Result: Count, how many were set.
type SetNew struct {
	Keys   []Key
	Values [][]byte // as many
}

func (o *PopFirst) Validate(l Limits) error {
	if len(o.Keys) == 0 || len(o.Keys) > maxEraseSessions {
		return Errorf(Invalid, "pop needs 1 to %d keys, has %d", maxEraseSessions, len(o.Keys))
	}
	for _, k := range o.Keys {
		if err := (&Pop{Key: k, From: o.From, Count: o.Count}).Validate(l); err != nil {
			return err
		}
	}
	return checkEnd(o.From)
}

func (o *MoveElement) Validate(l Limits) error {
	if o.Key.Namespace != o.To.Namespace {
		return Errorf(Invalid, "an element stays in its namespace")
	}
	if err := checkEnd(max(o.From, o.On)); err != nil {
		return err
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkKey(o.To)
}

func checkEnd(s Side) error {
	if s > Head {
		return Errorf(Invalid, "a list has the ends tail and head")
	}
	return nil
}

func (o *PushOnce) Validate(l Limits) error {
	return (&Append{Key: o.Key, Messages: o.Messages, Side: o.Side}).Validate(l)
}

func (o *SetNew) Validate(l Limits) error {
	if len(o.Keys) == 0 || len(o.Keys) > maxEraseSessions || len(o.Keys) != len(o.Values) {
		return Errorf(Invalid, "1 to %d keys are set, each with a value", maxEraseSessions)
	}
	total := 0
	for i, k := range o.Keys {
		if err := l.checkKey(k); err != nil {
			return err
		}
		if err := l.checkValue(o.Values[i]); err != nil {
			return err
		}
		total += len(o.Values[i])
	}
	return l.checkTogether(total)
}
