package turn

// SetFields sets fields of a hash or adds members to a set, one after another,
// creating the key if needed. Result: Number, how many are new; Count, how many
// it holds after it; Revision.
type SetFields struct {
	Key    Key
	Type   Type // TypeHash or TypeSet
	Fields []Field
	// OnlyNew leaves existing fields as they are.
	OnlyNew bool
}

// RemoveFields removes fields of a hash, or members of a set or sorted set. A key that becomes empty is
// deleted. Result: Removed, Count (held after it), Revision.
type RemoveFields struct {
	Key   Key
	Type  Type // TypeHash, TypeSet or TypeZSet
	Names []string
}

// AddToField adds to a field of a hash that is a decimal 64-bit integer, 0 if it
// does not exist. Another value, or an overflow, is Invalid.
// Result: Number, the sum; Count; Revision.
type AddToField struct {
	Key   Key
	Name  string
	Delta int64
}

// Fields looks up fields of a hash, or members of a set or sorted set, by name.
// Result: Elements, one for each name in the same order, some of them Missing;
// Session.
type Fields struct {
	Key   Key
	Type  Type // TypeHash, TypeSet or TypeZSet
	Names []string
}

// AllFields returns fields of a hash, or members of a set or sorted set, in byte order of their names.
// Result: Elements; Session; Cursor, nonempty if there may be more. An element that exists all the time
// while a caller reads one page after another is returned once.
type AllFields struct {
	Key    Key
	Type   Type   // TypeHash, TypeSet or TypeZSet
	Cursor string // from the last Result; empty: from the start
	Limit  int    // 0: no limit but Limits.ReadBytes
}

func (o *SetFields) Validate(l Limits) error {
	if o.Type != TypeHash && o.Type != TypeSet {
		return Errorf(Invalid, "only hashes and sets have fields to set")
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	for i := range o.Fields {
		if o.Type == TypeSet && len(o.Fields[i].Value) > 0 {
			return Errorf(Invalid, "a member of a set has no value")
		}
	}
	return l.checkFields(o.Fields)
}

func (o *RemoveFields) Validate(l Limits) error {
	return l.checkNamed(o.Key, o.Type, o.Names)
}

func (o *AddToField) Validate(l Limits) error {
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return checkName(o.Name)
}

func (q *Fields) Validate(l Limits) error {
	return l.checkNamed(q.Key, q.Type, q.Names)
}

func (q *AllFields) Validate(l Limits) error {
	if !q.Type.hasMembers() {
		return Errorf(Invalid, "a %s has no fields", q.Type)
	}
	if q.Limit < 0 {
		return Errorf(Invalid, "limit must not be negative")
	}
	if len(q.Cursor) > MaxNameBytes+1 {
		return Errorf(Invalid, "cursor is longer than a field's name may be")
	}
	return l.checkKey(q.Key)
}

// hasMembers: the elements of t have names that are distinct.
func (t Type) hasMembers() bool { return t == TypeHash || t == TypeSet || t == TypeZSet }

func (l Limits) checkNamed(k Key, t Type, names []string) error {
	if !t.hasMembers() {
		return Errorf(Invalid, "a %s has no fields", t)
	}
	if err := l.checkKey(k); err != nil {
		return err
	}
	if err := checkElements(len(names)); err != nil {
		return err
	}
	total := 0
	for _, n := range names {
		if err := checkName(n); err != nil {
			return err
		}
		total += len(n)
	}
	return l.checkTogether(total)
}

func (l Limits) checkFields(fs []Field) error {
	if err := checkElements(len(fs)); err != nil {
		return err
	}
	total := 0
	for i := range fs {
		if err := checkName(fs[i].Name); err != nil {
			return err
		}
		if err := l.checkValue(fs[i].Value); err != nil {
			return err
		}
		total += len(fs[i].Name) + len(fs[i].Value)
	}
	return l.checkTogether(total)
}

func (l Limits) checkTogether(total int) error {
	if total > l.AppendBytes {
		return Errorf(TooLarge, "elements of one call have %d bytes together, the limit is %d", total, l.AppendBytes)
	}
	return nil
}

func checkElements(n int) error {
	if n == 0 || n > MaxElements {
		return Errorf(Invalid, "1 to %d elements are expected, there are %d", MaxElements, n)
	}
	return nil
}

func checkName(name string) error {
	if len(name) > MaxNameBytes {
		return Errorf(TooLarge, "a field or member has %d bytes, the limit is %d", len(name), MaxNameBytes)
	}
	return nil
}

func (l Limits) checkValue(v []byte) error {
	if len(v) > l.MessageBytes {
		return Errorf(TooLarge, "value has %d bytes, the limit is %d", len(v), l.MessageBytes)
	}
	return nil
}
