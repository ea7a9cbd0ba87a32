package turn

func (o *Append) Validate(l Limits) error {
	if len(o.Messages) == 0 {
		return Errorf(Invalid, "append needs at least one message")
	}
	if o.Side > Head {
		return Errorf(Invalid, "messages are appended at the tail or the head")
	}
	if o.TTL < 0 || o.TTL > MaxTTL {
		return Errorf(Invalid, "ttl must be 1 to %d ms, is %d", int64(MaxTTL), o.TTL)
	}
	if err := l.checkMetadata(o.Set); err != nil {
		return err
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkMessages(o.Messages)
}

func (o *Pop) Validate(l Limits) error {
	if o.Count == 0 {
		return Errorf(Invalid, "pop needs a count of at least 1")
	}
	if o.From > Newest {
		return Errorf(Invalid, "unknown end to pop from")
	}
	return l.checkKey(o.Key)
}

func (o *Trim) Validate(l Limits) error {
	if o.By > ListRange {
		return Errorf(Invalid, "unknown way to trim")
	}
	return l.checkKey(o.Key)
}

func (o *Replace) Validate(l Limits) error {
	if o.From == 0 {
		return Errorf(Invalid, "replace needs the seq of the first message to remove, from 1 on")
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkMessages(o.Messages)
}

func (o *Clear) Validate(l Limits) error { return l.checkKey(o.Key) }

func (o *Delete) Validate(l Limits) error {
	if len(o.Keys) == 0 || len(o.Keys) > maxEraseSessions {
		return Errorf(Invalid, "delete needs 1 to %d keys, has %d", maxEraseSessions, len(o.Keys))
	}
	if o.Expect != nil && len(o.Keys) != 1 {
		return Errorf(Invalid, "a conditional delete takes a single key")
	}
	for _, k := range o.Keys {
		if err := l.checkKey(k); err != nil {
			return err
		}
	}
	return nil
}

func (o *Expire) Validate(l Limits) error {
	if o.HasTTL && o.HasAt {
		return Errorf(Invalid, "give a ttl or a deadline, not both")
	}
	if o.Slide && (!o.HasTTL || o.TTL <= 0) {
		return Errorf(Invalid, "a sliding expiry needs a positive ttl")
	}
	if o.TTL > MaxTTL {
		return Errorf(Invalid, "ttl must be at most %d ms, is %d", int64(MaxTTL), o.TTL)
	}
	if o.If > IfSomeSooner {
		return Errorf(Invalid, "unknown expire condition")
	}
	return l.checkKey(o.Key)
}

func (o *Fork) Validate(l Limits) error {
	if o.Key.Namespace != o.To.Namespace {
		return Errorf(Invalid, "a fork stays in its namespace")
	}
	if o.Key == o.To {
		return Errorf(Invalid, "a session cannot be forked to itself")
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkKey(o.To)
}

func (o *Rename) Validate(l Limits) error {
	if o.Key.Namespace != o.To.Namespace {
		return Errorf(Invalid, "a key cannot be renamed to another namespace")
	}
	if o.Key == o.To && !o.List {
		return Errorf(Invalid, "a key cannot be renamed to itself")
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkKey(o.To)
}

func (o *SetMetadata) Validate(l Limits) error {
	if err := l.checkMetadata(o.Set); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}

func (l Limits) checkMetadata(set map[string]string) error {
	n := 0
	for k, v := range set {
		if k == "" {
			return Errorf(Invalid, "a metadata key is empty")
		}
		n += len(k) + len(v)
	}
	if n > l.MetaBytes {
		return Errorf(TooLarge, "metadata has %d bytes, the limit is %d", n, l.MetaBytes)
	}
	return checkLabels(set)
}

func (o *Erase) Validate(l Limits) error {
	if o.Limit < 1 || o.Limit > maxEraseSessions {
		return Errorf(Invalid, "erase limit must be 1 to %d, is %d", maxEraseSessions, o.Limit)
	}
	return l.checkPage(o.Namespace, o.Prefix, o.Cursor)
}

func (q *Read) Validate(l Limits) error {
	if q.From > FromBefore {
		return Errorf(Invalid, "unknown place to read from")
	}
	for _, bound := range []struct {
		name string
		is   int64
	}{{"limit", int64(q.Limit)}, {"max_bytes", q.MaxBytes}, {"max_tokens", q.MaxTokens},
		{"since", q.Since}, {"until", q.Until}} {
		if bound.is < 0 {
			return Errorf(Invalid, "%s must not be negative, is %d", bound.name, bound.is)
		}
	}
	return l.checkKey(q.Key)
}

func (q *List) Validate(l Limits) error { return l.checkKey(q.Key) }

func (q *Info) Validate(l Limits) error { return l.checkKey(q.Key) }

func (q *Sessions) Validate(l Limits) error {
	if q.Limit < 1 || q.Limit > maxPageSessions {
		return Errorf(Invalid, "limit must be 1 to %d, is %d", maxPageSessions, q.Limit)
	}
	if q.Type > TypeStream {
		return Errorf(Invalid, "unknown type to list")
	}
	if err := q.checkLabels(l); err != nil {
		return err
	}
	return l.checkPage(q.Namespace, q.Prefix, q.Cursor)
}

func (q *Count) Validate(Limits) error { return checkNamespace(q.Namespace) }

func (l Limits) checkPage(ns, prefix, cursor string) error {
	if len(prefix) > l.KeyBytes || len(cursor) > l.KeyBytes+1 {
		return Errorf(TooLarge, "prefix or cursor is longer than a key may be (%d bytes)", l.KeyBytes)
	}
	return checkNamespace(ns)
}
