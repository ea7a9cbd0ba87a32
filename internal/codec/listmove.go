package codec

import "github.com/turnlog/turnlog/turn"

func (c *coder) popFirst(o *turn.PopFirst) {
	list(c, &o.Keys, c.key)
	enum(c, &o.From, turn.Newest)
	c.uint64(&o.Count)
}

func (c *coder) moveElement(o *turn.MoveElement) {
	c.key(&o.Key)
	c.key(&o.To)
	enum(c, &o.From, turn.Newest)
	enum(c, &o.On, turn.Newest)
}

func (c *coder) pushOnce(o *turn.PushOnce) {
	c.key(&o.Key)
	c.newMessages(&o.Messages)
	enum(c, &o.Side, turn.Newest)
	c.bool(&o.OnlyExisting)
}

func (c *coder) setNew(o *turn.SetNew) {
	list(c, &o.Keys, c.key)
	list(c, &o.Values, c.bytes)
}
