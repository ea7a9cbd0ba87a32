package codec

import (
	"fmt"

	"github.com/turnlog/turnlog/turn"
)

type (
	readQuery     turn.Read
	listQuery     turn.List
	infoQuery     turn.Info
	sessionsQuery turn.Sessions
	countQuery    turn.Count
)

func (q *readQuery) fields(c *coder) {
	c.key(&q.Key)
	enum(c, &q.From, turn.FromBefore)
	c.uint64(&q.Seq)
	c.int(&q.Limit)
	c.int64(&q.MaxBytes)
	c.int64(&q.MaxTokens)
}

func (q *listQuery) fields(c *coder) {
	c.key(&q.Key)
	c.int64(&q.Start)
	c.int64(&q.Stop)
}

func (q *infoQuery) fields(c *coder) { c.key(&q.Key) }

func (q *sessionsQuery) fields(c *coder) {
	c.string(&q.Namespace)
	c.string(&q.Prefix)
	c.string(&q.Cursor)
	c.int(&q.Limit)
	c.bool(&q.List)
}

func (q *countQuery) fields(c *coder) { c.string(&q.Namespace) }

// EncodeQuery returns the wire form of q.
func EncodeQuery(q turn.Query) ([]byte, error) {
	var k kinded
	switch q := q.(type) {
	case *turn.Read:
		k.kind, k.body = kindRead, (*readQuery)(q)
	case *turn.List:
		k.kind, k.body = kindList, (*listQuery)(q)
	case *turn.Info:
		k.kind, k.body = kindInfo, (*infoQuery)(q)
	case *turn.Sessions:
		k.kind, k.body = kindSessions, (*sessionsQuery)(q)
	case *turn.Count:
		k.kind, k.body = kindCount, (*countQuery)(q)
	default:
		return nil, fmt.Errorf("codec: no wire form for %T", q)
	}
	return encode(nil, &k)
}

// DecodeQuery reads a query.
func DecodeQuery(b []byte) (turn.Query, error) {
	k := kinded{make: newQuery}
	if err := decode(b, &k); err != nil {
		return nil, err
	}
	switch q := k.body.(type) {
	case *readQuery:
		return (*turn.Read)(q), nil
	case *listQuery:
		return (*turn.List)(q), nil
	case *infoQuery:
		return (*turn.Info)(q), nil
	case *sessionsQuery:
		return (*turn.Sessions)(q), nil
	case *countQuery:
		return (*turn.Count)(q), nil
	}
	return nil, turn.Errorf(turn.Corrupt, "record is empty")
}

func newQuery(kind uint64) fielder {
	switch kind {
	case kindRead:
		return new(readQuery)
	case kindList:
		return new(listQuery)
	case kindInfo:
		return new(infoQuery)
	case kindSessions:
		return new(sessionsQuery)
	case kindCount:
		return new(countQuery)
	}
	return nil
}
