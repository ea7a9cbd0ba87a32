package codec

import (
	"fmt"

	"github.com/turnlog/turnlog/turn"
)

// Kind numbers of operations and queries on the wire and in the log. They are
// never reused; the lists grow at their ends.
const (
	kindAppend = 1 + iota
	kindPop
	kindTrim
	kindReplace
	kindClear
	kindDelete
	kindExpire
	kindFork
	kindSetMeta
	kindErase
	kindTick
	kindEpoch
	kindMember
	kindChecksum
)

const (
	kindRead = 1 + iota
	kindList
	kindInfo
	kindSessions
	kindCount
)

// kinded puts the kind number in front of a value's fields.
type kinded struct {
	kind uint64
	make func(kind uint64) fielder // when decoding: the empty value of kind, nil if unknown
	body fielder
}

func (k *kinded) fields(c *coder) {
	c.uint64(&k.kind)
	if c.mode == decoding && c.err == nil {
		if k.body = k.make(k.kind); k.body == nil {
			c.err = turn.Errorf(turn.Newer, "record has the unknown kind %d", k.kind)
			return
		}
	}
	if k.body != nil {
		k.body.fields(c)
	}
}

// EncodeOp returns the wire form of op.
func EncodeOp(op turn.Op) ([]byte, error) {
	kind, body := opBody(op)
	if body == nil {
		return nil, fmt.Errorf("codec: no wire form for %T", op)
	}
	return encode(nil, &kinded{kind: kind, body: body})
}

func opBody(op turn.Op) (kind uint64, body fielder) {
	switch o := op.(type) {
	case *turn.Append:
		return kindAppend, (*appendOp)(o)
	case *turn.Pop:
		return kindPop, (*popOp)(o)
	case *turn.Trim:
		return kindTrim, (*trimOp)(o)
	case *turn.Replace:
		return kindReplace, (*replaceOp)(o)
	case *turn.Clear:
		return kindClear, (*clearOp)(o)
	case *turn.Delete:
		return kindDelete, (*deleteOp)(o)
	case *turn.Expire:
		return kindExpire, (*expireOp)(o)
	case *turn.Fork:
		return kindFork, (*forkOp)(o)
	case *turn.SetMeta:
		return kindSetMeta, (*setMetaOp)(o)
	case *turn.Erase:
		return kindErase, (*eraseOp)(o)
	case *Tick:
		return kindTick, o
	case *Epoch:
		return kindEpoch, o
	case *Member:
		return kindMember, o
	case *Checksum:
		return kindChecksum, o
	}
	return 0, nil
}

// DecodeOp reads an operation. Its payloads share memory with b.
func DecodeOp(b []byte) (turn.Op, error) {
	k := kinded{make: newOp}
	if err := decode(b, &k); err != nil {
		return nil, err
	}
	switch o := k.body.(type) {
	case *appendOp:
		return (*turn.Append)(o), nil
	case *popOp:
		return (*turn.Pop)(o), nil
	case *trimOp:
		return (*turn.Trim)(o), nil
	case *replaceOp:
		return (*turn.Replace)(o), nil
	case *clearOp:
		return (*turn.Clear)(o), nil
	case *deleteOp:
		return (*turn.Delete)(o), nil
	case *expireOp:
		return (*turn.Expire)(o), nil
	case *forkOp:
		return (*turn.Fork)(o), nil
	case *setMetaOp:
		return (*turn.SetMeta)(o), nil
	case *eraseOp:
		return (*turn.Erase)(o), nil
	case turn.Op:
		return o, nil
	}
	return nil, turn.Errorf(turn.Corrupt, "record is empty")
}

func newOp(kind uint64) fielder {
	switch kind {
	case kindAppend:
		return new(appendOp)
	case kindPop:
		return new(popOp)
	case kindTrim:
		return new(trimOp)
	case kindReplace:
		return new(replaceOp)
	case kindClear:
		return new(clearOp)
	case kindDelete:
		return new(deleteOp)
	case kindExpire:
		return new(expireOp)
	case kindFork:
		return new(forkOp)
	case kindSetMeta:
		return new(setMetaOp)
	case kindErase:
		return new(eraseOp)
	case kindTick:
		return new(Tick)
	case kindEpoch:
		return new(Epoch)
	case kindMember:
		return new(Member)
	case kindChecksum:
		return new(Checksum)
	}
	return nil
}
