package codec

import (
	"fmt"
	"reflect"

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
	kindSetString
	kindAddInt
	kindSetFields
	kindRemoveFields
	kindAddToField
	kindSetScores
	kindAddEntry
	kindTrimEntries
	kindRemoveEntries
	kindSetElement
	kindInsertElement
	kindRemoveElements
	kindTx
	kindPopFirst
	kindMoveElement
	kindPushOnce
	kindSetNew
	kindSetLevel
	kindRemoveScores
	kindEditMessage
	kindRemoveMessage
	kindRetain
	kindRename
	kindStoreSets
)

const (
	kindRead = 1 + iota
	kindList
	kindInfo
	kindSessions
	kindCount
	kindGetString
	kindFields
	kindAllFields
	kindScores
	kindRank
	kindEntries
	kindLookup
	kindCombineSets
)

// opKinds and queryKinds are set once, by init: a variable that leads to itself
// through the fields of its values cannot be initialised.
var (
	opKinds    kinds
	queryKinds kinds
)

func init() {
	opKinds = tabulate(
		of(kindAppend, (*coder).appendOp),
		of(kindPop, (*coder).popOp),
		of(kindTrim, (*coder).trimOp),
		of(kindReplace, (*coder).replaceOp),
		of(kindClear, (*coder).clearOp),
		of(kindDelete, (*coder).deleteOp),
		of(kindExpire, (*coder).expireOp),
		of(kindFork, (*coder).forkOp),
		of(kindSetMeta, (*coder).setMetaOp),
		of(kindErase, (*coder).eraseOp),
		of(kindTick, (*coder).tick),
		of(kindEpoch, (*coder).epoch),
		of(kindMember, (*coder).member),
		of(kindChecksum, (*coder).checksum),
		of(kindSetString, (*coder).setString),
		of(kindAddInt, (*coder).addInt),
		of(kindSetFields, (*coder).setFields),
		of(kindRemoveFields, (*coder).removeFields),
		of(kindAddToField, (*coder).addToField),
		of(kindSetScores, (*coder).setScores),
		of(kindAddEntry, (*coder).addEntry),
		of(kindTrimEntries, (*coder).trimEntries),
		of(kindRemoveEntries, (*coder).removeEntries),
		of(kindSetElement, (*coder).setElement),
		of(kindInsertElement, (*coder).insertElement),
		of(kindRemoveElements, (*coder).removeElements),
		of(kindTx, (*coder).tx),
		of(kindPopFirst, (*coder).popFirst),
		of(kindMoveElement, (*coder).moveElement),
		of(kindPushOnce, (*coder).pushOnce),
		of(kindSetNew, (*coder).setNew),
		of(kindSetLevel, (*coder).setLevel),
		of(kindRemoveScores, (*coder).removeScores).since(turn.Level2),
		of(kindEditMessage, (*coder).editMessage).since(turn.Level2),
		of(kindRemoveMessage, (*coder).removeMessage).since(turn.Level2),
		of(kindRetain, (*coder).retain).since(turn.Level2),
		of(kindRename, (*coder).rename).since(turn.Level2),
		of(kindStoreSets, (*coder).storeSets).since(turn.Level3),
	)
	queryKinds = tabulate(
		of(kindRead, (*coder).readQuery),
		of(kindList, (*coder).listQuery),
		of(kindInfo, (*coder).infoQuery),
		of(kindSessions, (*coder).sessionsQuery),
		of(kindCount, (*coder).countQuery),
		of(kindGetString, (*coder).getString),
		of(kindFields, (*coder).fieldsQuery),
		of(kindAllFields, (*coder).allFields),
		of(kindScores, (*coder).scores),
		of(kindRank, (*coder).rank),
		of(kindEntries, (*coder).entries),
		of(kindLookup, (*coder).lookup).since(turn.Level3),
		of(kindCombineSets, (*coder).combineSets).since(turn.Level3),
	)
}

// kind is how one type of operation or query is coded.
type kind struct {
	number uint64
	typ    reflect.Type // of a pointer to it
	make   func() any   // such a pointer, to an empty one
	fields func(*coder, any)
	level  turn.ClusterLevel // from which it is understood
}

func of[T any](number uint64, fields func(*coder, *T)) kind {
	return kind{
		number: number,
		typ:    reflect.TypeFor[*T](),
		make:   func() any { return new(T) },
		fields: func(c *coder, v any) { fields(c, v.(*T)) },
	}
}

// kinds finds a kind by its number or its type.
type kinds struct {
	byNumber []kind // number 0 is none
	byType   map[reflect.Type]uint64
}

func tabulate(all ...kind) kinds {
	k := kinds{byNumber: make([]kind, len(all)+1), byType: make(map[reflect.Type]uint64, len(all))}
	for _, one := range all {
		k.byNumber[one.number] = one
		k.byType[one.typ] = one.number
	}
	return k
}

// kinded is a value of one of several kinds: its kind number, then its fields.
type kinded struct {
	*kinds
	value any  // nil when decoding begins
	step  bool // of a transaction, which cannot be a transaction
}

func (k *kinded) fields(c *coder) {
	number := uint64(0)
	if c.mode != decoding {
		if number = k.byType[reflect.TypeOf(k.value)]; number == 0 {
			c.err = fmt.Errorf("codec: no wire form for %T", k.value)
			return
		}
	}
	c.uint64(&number)
	if c.err == nil && k.step && k.kinds == &opKinds && number == kindTx {
		c.err = turn.Errorf(turn.Corrupt, "record has a transaction within a transaction")
	}
	if c.mode == decoding && c.err == nil {
		switch {
		case number == 0:
			c.err = turn.Errorf(turn.Corrupt, "record is empty")
		case number >= uint64(len(k.byNumber)):
			c.err = turn.Errorf(turn.Newer, "record has the unknown kind %d", number)
		default:
			k.value = k.byNumber[number].make()
		}
	}
	if c.err == nil {
		c.needs(k.byNumber[number].level)
		k.byNumber[number].fields(c, k.value)
	}
}

func decodeKinded(ks *kinds, b []byte) (any, turn.ClusterLevel, error) {
	k := kinded{kinds: ks}
	level, err := decodeLevel(b, &k)
	return k.value, level, err
}

// EncodeOp returns the wire form of op.
func EncodeOp(op turn.Op) ([]byte, error) { return encode(nil, &kinded{kinds: &opKinds, value: op}) }

// DecodeOp reads an operation. Its payloads share memory with b.
func DecodeOp(b []byte) (turn.Op, error) {
	op, _, err := DecodeOpLevel(b)
	return op, err
}

// EncodeQuery returns the wire form of q.
func EncodeQuery(q turn.Query) ([]byte, error) {
	return encode(nil, &kinded{kinds: &queryKinds, value: q})
}

// DecodeQuery reads a query.
func DecodeQuery(b []byte) (turn.Query, error) {
	v, _, err := decodeKinded(&queryKinds, b)
	if err != nil {
		return nil, err
	}
	return v.(turn.Query), nil
}

// EncodeOpLevel is EncodeOp, and returns the level that a cluster needs to take op.
func EncodeOpLevel(op turn.Op) ([]byte, turn.ClusterLevel, error) {
	return encodeLevel(nil, &kinded{kinds: &opKinds, value: op})
}

// EncodeQueryLevel is EncodeQuery, and returns the level that a cluster needs to take q.
func EncodeQueryLevel(q turn.Query) ([]byte, turn.ClusterLevel, error) {
	return encodeLevel(nil, &kinded{kinds: &queryKinds, value: q})
}

// DecodeOpLevel is DecodeOp, and returns the level that a cluster needs to take the
// operation.
func DecodeOpLevel(b []byte) (turn.Op, turn.ClusterLevel, error) {
	v, level, err := decodeKinded(&opKinds, b)
	if err != nil {
		return nil, 0, err
	}
	return v.(turn.Op), level, nil
}
