package httpapi

import (
	"maps"

	"github.com/turnlog/turnlog/turn"
)

// members shows the members of an object, one after another.
type members func(member func(name string, v value) error) error

func inBody(body []byte) members {
	return func(member func(name string, v value) error) error { return parseBody(body, member) }
}

// readers are what reads the members of an object, by their names.
type readers map[string]func(v value) error

// notGiven reports whether a member counts as one that is not given, because it is null. Where data is null, that is
// the payload. A condition that is null is an error: without it, what it was to prevent would be written.
func notGiven(name string, v value) bool {
	return v.null() && name != "data" && name != "expect" && name != "conditions"
}

// read has each member read. One that no reader is for is an error.
func (in members) read(by readers) error {
	return in(func(name string, v value) error {
		read, ok := by[name]
		switch {
		case !ok:
			return errUnknownField
		case notGiven(name, v):
			return nil
		}
		return read(v)
	})
}

// readOne is read for an object that has to have one of the members in choice, and only one. If it has
// not, the error says what it needs.
func (in members) readOne(choice, others readers, needs string) error {
	given := 0
	all := maps.Clone(others)
	for name, read := range choice {
		all[name] = func(v value) error { given++; return read(v) }
	}
	err := in.read(all)
	if err == nil && given != 1 {
		err = turn.Errorf(turn.Invalid, "body: needs %s", needs)
	}
	return err
}

func number(to *uint64, least uint64) func(value) error {
	return func(v value) (err error) { *to, err = v.number(least); return err }
}

func expect(to **uint64) func(value) error {
	return func(v value) (err error) { *to, err = expectField(v); return err }
}

func text(to *string) func(value) error {
	return func(v value) (err error) { *to, err = v.text(); return err }
}

func boolean(to *bool) func(value) error {
	return func(v value) (err error) { *to, err = v.boolean(); return err }
}

// base64Name reads a key or an id that is any bytes, in base64.
func base64Name(to *string) func(value) error {
	return func(v value) error {
		b, err := v.base64()
		*to = string(b)
		return err
	}
}

// newMessages reads the array of messages of an append or a replacement.
func newMessages(v value, limits turn.Limits) ([]turn.NewMessage, error) {
	var ms []turn.NewMessage
	err := v.array(func(i int, v value) error {
		if i == limits.AppendMessages {
			return turn.Errorf(turn.TooLarge, "messages: more than %d in one call", limits.AppendMessages)
		}
		m, err := newMessage(v)
		ms = append(ms, m)
		return err
	})
	return ms, err
}

func newMessage(v value) (m turn.NewMessage, err error) {
	given := 0
	err = v.object(func(name string, v value) (err error) {
		none := notGiven(name, v)
		switch {
		case name == "id" && !none:
			m.ID, err = v.text()
		case name == "data":
			m.Data = v
			given++
		case name == "data_base64" && !none:
			m.Data, err = v.base64()
			given++
		case name != "id" && name != "data_base64":
			err = errUnknownField
		}
		return err
	})
	if err == nil && given != 1 {
		err = wrong("needs data or data_base64, and only one of them")
	}
	return m, err
}

func expectField(v value) (*uint64, error) {
	if v.null() {
		return nil, wrong("must be a number, is null: leave it out to write without a condition")
	}
	n, err := v.number(0)
	return &n, err
}

func readAppend(in members, limits turn.Limits) (*turn.Append, error) {
	op := &turn.Append{}
	given := false
	err := in.read(readers{
		"messages": func(v value) (err error) {
			given = true
			op.Messages, err = newMessages(v, limits)
			return err
		},
		"expect":     expect(&op.Expect),
		"ttl_ms":     func(v value) (err error) { op.TTL, err = signed(v.number(1)); return err },
		"must_exist": boolean(&op.MustExist),
		"metadata": func(v value) (err error) {
			op.Set = map[string]string{}
			op.Unset, err = metadataField(v, op.Set)
			return err
		},
	})
	if err == nil && !given {
		err = turn.Errorf(turn.Invalid, "messages: missing")
	}
	return op, err
}

func readReplace(in members, limits turn.Limits) (*turn.Replace, error) {
	op := &turn.Replace{}
	err := in.read(readers{
		"from":     number(&op.From, 1),
		"messages": func(v value) (err error) { op.Messages, err = newMessages(v, limits); return err },
		"expect":   expect(&op.Expect),
	})
	if err == nil && op.From == 0 {
		err = turn.Errorf(turn.Invalid, "from: missing; it is the seq of the first message to replace")
	}
	return op, err
}

func readPop(in members) (*turn.Pop, error) {
	op := &turn.Pop{From: turn.Newest, Count: 1}
	return op, in.read(readers{
		"count":  number(&op.Count, 1),
		"from":   func(v value) (err error) { op.From, err = sideField(v); return err },
		"expect": expect(&op.Expect),
	})
}

func sideField(v value) (turn.Side, error) {
	s, err := v.text()
	if err != nil {
		return 0, err
	}
	switch s {
	case "newest":
		return turn.Newest, nil
	case "head":
		return turn.Head, nil
	case "tail":
		return turn.Tail, nil
	}
	return 0, wrong(`must be "newest", "head" or "tail", is %.32q`, s)
}

func readTrim(in members) (*turn.Trim, error) {
	op := &turn.Trim{}
	by := func(by turn.TrimBy) func(value) error {
		return func(v value) (err error) { op.By = by; op.N, err = v.number(0); return err }
	}
	return op, in.readOne(readers{"keep_last": by(turn.KeepLast), "before": by(turn.BeforeSeq)},
		readers{"expect": expect(&op.Expect)}, "keep_last or before, and only one of them")
}

func readClear(in members) (*turn.Clear, error) {
	op := &turn.Clear{}
	return op, in.read(readers{"expect": expect(&op.Expect)})
}

func readFork(in members) (*turn.Fork, error) {
	op := &turn.Fork{}
	return op, in.readOne(readers{
		"to":        text(&op.To.Name),
		"to_base64": base64Name(&op.To.Name),
	}, readers{"at": number(&op.At, 1), "expect": expect(&op.Expect)},
		"to or to_base64, the key of the new session, and only one of them")
}

func readRename(in members) (*turn.Rename, error) {
	op := &turn.Rename{}
	return op, in.readOne(readers{
		"to":        text(&op.To.Name),
		"to_base64": base64Name(&op.To.Name),
	}, readers{"replace": boolean(&op.Replace), "expect": expect(&op.Expect)},
		"to or to_base64, the new key, and only one of them")
}

func readExpire(in members) (*turn.Expire, error) {
	op := &turn.Expire{}
	return op, in.readOne(readers{
		"ttl_ms": func(v value) (err error) { op.HasTTL = true; op.TTL, err = signed(v.number(1)); return err },
		"at":     func(v value) (err error) { op.HasAt = true; op.At, err = signed(v.number(1)); return err },
		"never":  always,
	}, readers{"slide": boolean(&op.Slide), "expect": expect(&op.Expect)}, "one of ttl_ms, at and never")
}

func readRetain(in members) (*turn.Retain, error) {
	op := &turn.Retain{}
	return op, in.readOne(readers{
		"messages": number(&op.Keep.Messages, 1),
		"turns":    number(&op.Keep.Turns, 1),
		"all":      func(v value) error { op.All = true; return always(v) },
	}, readers{"expect": expect(&op.Expect)}, "one of messages, turns and all")
}

// always reads true, for what can only be chosen.
func always(v value) error {
	is, err := v.boolean()
	if err == nil && !is {
		err = wrong("must be true if it is given")
	}
	return err
}

func readPatch(in members) (*turn.SetMetadata, error) {
	op := &turn.SetMetadata{Set: map[string]string{}}
	given := false
	err := in.read(readers{
		"metadata": func(v value) (err error) {
			given = true
			op.Unset, err = metadataField(v, op.Set)
			return err
		},
		"expect": expect(&op.Expect),
	})
	if err == nil && !given {
		err = turn.Errorf(turn.Invalid, "metadata: missing")
	}
	return op, err
}

// metadataField reads metadata that is to be set, and what is to be removed.
func metadataField(v value, set map[string]string) (unset []string, err error) {
	if v[0] != '{' {
		return nil, v.mismatch("an object")
	}
	seen := map[string]bool{}
	err = v.members(func(name string, v value) error {
		if seen[name] {
			return wrong("given twice")
		}
		seen[name] = true
		if v.null() {
			unset = append(unset, name)
			return nil
		}
		s, err := v.text()
		if v[0] != '"' {
			err = v.mismatch("a string, or null to remove it")
		}
		set[name] = s
		return err
	})
	return unset, err
}

func signed(n uint64, err error) (int64, error) { return int64(n), err }
