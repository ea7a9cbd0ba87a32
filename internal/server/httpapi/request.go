package httpapi

import (
	"github.com/turnlog/turnlog/turn"
)

// members shows the members of an object, one after another.
type members func(member func(name string, v value) error) error

func inBody(body []byte) members {
	return func(member func(name string, v value) error) error { return parseBody(body, member) }
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
		switch name {
		case "id":
			m.ID, err = v.text()
		case "data":
			m.Data = v
			given++
		case "data_base64":
			m.Data, err = v.base64()
			given++
		default:
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
	n, err := v.number(0)
	return &n, err
}

func decodeAppend(body []byte, limits turn.Limits) (*turn.Append, error) {
	return readAppend(inBody(body), limits)
}

func readAppend(in members, limits turn.Limits) (*turn.Append, error) {
	op := &turn.Append{}
	given := false
	err := in(func(name string, v value) (err error) {
		switch name {
		case "messages":
			given = true
			op.Messages, err = newMessages(v, limits)
		case "expect":
			op.Expect, err = expectField(v)
		case "ttl_ms":
			op.TTL, err = signed(v.number(1))
		case "must_exist":
			op.MustExist, err = v.boolean()
		case "metadata":
			op.Set = map[string]string{}
			op.Unset, err = metadataField(v, op.Set)
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && !given {
		err = turn.Errorf(turn.Invalid, "messages: missing")
	}
	return op, err
}

func decodeReplace(body []byte, limits turn.Limits) (*turn.Replace, error) {
	op := &turn.Replace{}
	err := parseBody(body, func(name string, v value) (err error) {
		switch name {
		case "from":
			op.From, err = v.number(1)
		case "messages":
			op.Messages, err = newMessages(v, limits)
		case "expect":
			op.Expect, err = expectField(v)
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && op.From == 0 {
		err = turn.Errorf(turn.Invalid, "from: missing; it is the seq of the first message to replace")
	}
	return op, err
}

func decodePop(body []byte) (*turn.Pop, error) {
	op := &turn.Pop{From: turn.Newest, Count: 1}
	return op, parseBody(body, func(name string, v value) (err error) {
		switch name {
		case "count":
			op.Count, err = v.number(1)
		case "from":
			op.From, err = sideField(v)
		case "expect":
			op.Expect, err = expectField(v)
		default:
			err = errUnknownField
		}
		return err
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

func decodeTrim(body []byte) (*turn.Trim, error) {
	return readTrim(inBody(body))
}

func readTrim(in members) (*turn.Trim, error) {
	op := &turn.Trim{}
	given := 0
	err := in(func(name string, v value) (err error) {
		switch name {
		case "keep_last":
			given++
			op.By = turn.KeepLast
			op.N, err = v.number(0)
		case "before":
			given++
			op.By = turn.BeforeSeq
			op.N, err = v.number(0)
		case "expect":
			op.Expect, err = expectField(v)
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && given != 1 {
		err = turn.Errorf(turn.Invalid, "body: needs keep_last or before, and only one of them")
	}
	return op, err
}

func decodeClear(body []byte) (*turn.Clear, error) {
	return readClear(inBody(body))
}

func readClear(in members) (*turn.Clear, error) {
	op := &turn.Clear{}
	return op, in(func(name string, v value) (err error) {
		if name != "expect" {
			return errUnknownField
		}
		op.Expect, err = expectField(v)
		return err
	})
}

func decodeFork(body []byte) (*turn.Fork, error) {
	op := &turn.Fork{}
	given := 0
	err := parseBody(body, func(name string, v value) (err error) {
		switch name {
		case "to":
			given++
			op.To.Name, err = v.text()
		case "to_base64":
			given++
			var b []byte
			b, err = v.base64()
			op.To.Name = string(b)
		case "at":
			op.At, err = v.number(1)
		case "expect":
			op.Expect, err = expectField(v)
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && given != 1 {
		err = turn.Errorf(turn.Invalid, "body: needs to or to_base64, the key of the new session, and only one of them")
	}
	return op, err
}

func decodeExpire(body []byte) (*turn.Expire, error) {
	return readExpire(inBody(body))
}

func readExpire(in members) (*turn.Expire, error) {
	op := &turn.Expire{}
	given := 0
	err := in(func(name string, v value) (err error) {
		switch name {
		case "ttl_ms":
			given++
			op.HasTTL = true
			op.TTL, err = signed(v.number(1))
		case "at":
			given++
			op.HasAt = true
			op.At, err = signed(v.number(1))
		case "never":
			var never bool
			if never, err = v.boolean(); err == nil && !never {
				err = wrong("must be true if it is given")
			}
			given++
		case "slide":
			op.Slide, err = v.boolean()
		case "expect":
			op.Expect, err = expectField(v)
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && given != 1 {
		err = turn.Errorf(turn.Invalid, "body: needs one of ttl_ms, at and never")
	}
	return op, err
}

func decodePatch(body []byte) (*turn.SetMetadata, error) {
	return readPatch(inBody(body))
}

func readPatch(in members) (*turn.SetMetadata, error) {
	op := &turn.SetMetadata{Set: map[string]string{}}
	given := false
	err := in(func(name string, v value) (err error) {
		switch name {
		case "metadata":
			given = true
			op.Unset, err = metadataField(v, op.Set)
		case "expect":
			op.Expect, err = expectField(v)
		default:
			err = errUnknownField
		}
		return err
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
