package turn

// SetIf restricts SetString as Redis's SET options do.
type SetIf uint8

const (
	SetAlways    SetIf = iota
	SetIfAbsent        // NX
	SetIfPresent       // XX
)

// SetString sets a key to a string, whatever the key held before. Result: Count, 1 if it was set, 0 if
// If prevented it; Revision; with Get also Value, the string that the key held before, and Found,
// whether there was one.
type SetString struct {
	Key   Key
	Value []byte
	If    SetIf
	// Get asks for the former value; if that is no string, the error is WrongType.
	Get bool
	// KeepTTL keeps the deadline of an existing key; otherwise it is removed.
	KeepTTL bool
	// TTL, if positive, sets the deadline to that many milliseconds from now; At,
	// if positive, is an absolute one. A deadline that has passed deletes the key.
	TTL int64
	At  int64
	// KeepValue changes only the deadline of an existing string. It requires SetIfPresent in If, Get,
	// and no Value. To remove the deadline of a key that has none changes nothing.
	KeepValue bool
}

// AddInt adds to a string that is a decimal 64-bit integer, 0 if the key does
// not exist, and keeps its deadline. Another string, or an overflow, is Invalid.
// Result: Number, the sum; Revision.
type AddInt struct {
	Key   Key
	Delta int64
}

// GetString returns a string. Result: Value, Found, Session.
type GetString struct {
	Key Key
}

func (o *SetString) Validate(l Limits) error {
	if o.If > SetIfPresent {
		return Errorf(Invalid, "unknown condition to set a string")
	}
	if o.TTL < 0 || o.TTL > MaxTTL || o.At < 0 {
		return Errorf(Invalid, "invalid expire time in 'set' command")
	}
	if o.TTL > 0 && o.At > 0 || o.KeepTTL && (o.TTL > 0 || o.At > 0) {
		return Errorf(Invalid, "give a ttl or a deadline, or keep the one there is")
	}
	if o.KeepValue && (o.If != SetIfPresent || !o.Get || o.KeepTTL || len(o.Value) > 0) {
		return Errorf(Invalid, "only the deadline of a string that is there can be changed alone")
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkValue(o.Value)
}

func (o *AddInt) Validate(l Limits) error { return l.checkKey(o.Key) }

func (q *GetString) Validate(l Limits) error { return l.checkKey(q.Key) }
