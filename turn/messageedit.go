package turn

// MessageRef names one message of a session: by its seq, or by the id that it was appended with. An id
// of one of the last 1,024 appended messages names that message, even if it was removed since. Any
// other id names the newest message with it that the session holds; to find it, the session is
// searched, which takes time if it is long. A seq is found at once.
type MessageRef struct {
	Seq uint64 // 0: by ID
	ID  string
}

// EditMessage gives a message that a session holds another payload. The message keeps its seq, time and
// id, and a retry of its append is still recognised by what it was appended with. If there is no such
// message, the error is NotFound. If the message already has that payload, nothing changes, not even
// the session's revision. Result: First and Last, the message's seq; Count; Revision.
type EditMessage struct {
	Key     Key
	Message MessageRef
	Data    []byte
	Expect  *uint64
}

// RemoveMessage removes a message. The others keep their seqs, and its own is not assigned again. A
// retry of its append is still recognised, and does not bring it back. It is no error if the message or
// the session does not exist. Result: Removed, Count (held after it), Revision.
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
