package codec

import "github.com/turnlog/turnlog/turn"

func (c *coder) typ(t *turn.Type) { enum(c, t, turn.TypeStream) }

func (c *coder) pairs(v *[]turn.Field) {
	list(c, v, func(f *turn.Field) {
		c.string(&f.Name)
		c.bytes(&f.Value)
	})
}

func (c *coder) setString(o *turn.SetString) {
	c.key(&o.Key)
	c.bytes(&o.Value)
	enum(c, &o.If, turn.SetIfPresent)
	c.bool(&o.Get)
	c.bool(&o.KeepTTL)
	c.int64(&o.TTL)
	c.int64(&o.At)
}

func (c *coder) addInt(o *turn.AddInt) {
	c.key(&o.Key)
	c.int64(&o.Delta)
}

func (c *coder) setFields(o *turn.SetFields) {
	c.key(&o.Key)
	c.typ(&o.Type)
	c.pairs(&o.Fields)
	c.bool(&o.OnlyNew)
}

func (c *coder) removeFields(o *turn.RemoveFields) {
	c.key(&o.Key)
	c.typ(&o.Type)
	list(c, &o.Names, c.string)
}

func (c *coder) addToField(o *turn.AddToField) {
	c.key(&o.Key)
	c.string(&o.Name)
	c.int64(&o.Delta)
}

func (c *coder) getString(q *turn.GetString) { c.key(&q.Key) }

func (c *coder) fieldsQuery(q *turn.Fields) {
	c.key(&q.Key)
	c.typ(&q.Type)
	list(c, &q.Names, c.string)
}

func (c *coder) allFields(q *turn.AllFields) {
	c.key(&q.Key)
	c.typ(&q.Type)
	c.string(&q.Cursor)
	c.int(&q.Limit)
}
