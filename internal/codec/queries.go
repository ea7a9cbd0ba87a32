package codec

import "github.com/turnlog/turnlog/turn"

func (c *coder) readQuery(q *turn.Read) {
	c.key(&q.Key)
	enum(c, &q.From, turn.FromBefore)
	c.uint64(&q.Seq)
	c.int(&q.Limit)
	c.int64(&q.MaxBytes)
	c.int64(&q.MaxTokens)
	if c.later(turn.Level2, q.Whole || q.Since != 0 || q.Until != 0) {
		c.bool(&q.Whole)
		c.int64(&q.Since)
		c.int64(&q.Until)
	}
}

func (c *coder) listQuery(q *turn.List) {
	c.key(&q.Key)
	c.int64(&q.Start)
	c.int64(&q.Stop)
}

func (c *coder) infoQuery(q *turn.Info) { c.key(&q.Key) }

func (c *coder) sessionsQuery(q *turn.Sessions) {
	c.string(&q.Namespace)
	c.string(&q.Prefix)
	c.string(&q.Cursor)
	c.int(&q.Limit)
	c.bool(&q.List)
	c.typ(&q.Type)
	if c.later(turn.Level2, len(q.Labels)+len(q.Prefixes) > 0) {
		list(c, &q.Labels, func(l *turn.Label) {
			c.string(&l.Name)
			c.string(&l.Value)
		})
		list(c, &q.Prefixes, c.string)
	}
}

func (c *coder) countQuery(q *turn.Count) { c.string(&q.Namespace) }
