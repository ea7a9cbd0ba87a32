package turn

// MessageRef names one message of a session: by its seq, or by the id that it was appended
// with. If that is the id of one of the last 1,024 messages appended, it names that one, even
// if it was removed since, else the newest that the session holds with that id. One of those
// that are older is searched for, which takes time in a long session; its seq does not.
type MessageRef struct {
	Seq uint64 // 0: by ID
	ID  string
}

// EditMessage gives a message that a session holds another payload. The message keeps its
// seq, time and id, and a retry of its append is still recognised by what it was appended
// with. There must be such a message, else it is NotFound. A message that has that payload
// already stays as it is, and so does the session's revision.
// Result: First and Last, the message's seq; Count; Revision.
type EditMessage struct {
	Key     Key
	Message MessageRef
	Data    []byte
	Expect  *uint64
}

// RemoveMessage removes a message. Others keep their seqs, and its own is not given out
// again; a retry of its append is still recognised, and does not bring it back. A message or
// session that does not exist is no error. Result: Removed, Count (held after it), Revision.
type RemoveMessage struct {
	Key     Key
	Message MessageRef
	Expect  *uint64
}

func (m *MessageRef) validate(l Limits) error {
	switch {
	case (m.Seq == 0) == (m.ID == ""):
		return Errorf(Invalid, "a message is named by its seq or by its id")
	case len(m.ID) > l.IDBytes:
		return Errorf(TooLarge, "message id has %d bytes, the limit is %d", len(m.ID), l.IDBytes)
	}
	return nil
}

// Validate implements Op.
func (o *EditMessage) Validate(l Limits) error {
	if err := o.Message.validate(l); err != nil {
		return err
	}
	if err := l.checkValue(o.Data); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}

// Validate implements Op.
func (o *RemoveMessage) Validate(l Limits) error {
	if err := o.Message.validate(l); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}
