package codec

import "github.com/turnlog/turnlog/turn"

func (c *coder) key(k *turn.Key) {
	c.string(&k.Namespace)
	c.string(&k.Name)
}

func (c *coder) expect(v **uint64) { optional(c, v, c.uint64) }

func (c *coder) newMessages(v *[]turn.NewMessage) {
	list(c, v, func(m *turn.NewMessage) {
		c.string(&m.ID)
		c.bytes(&m.Data)
	})
}

func (c *coder) appendOp(o *turn.Append) {
	c.key(&o.Key)
	c.newMessages(&o.Messages)
	c.expect(&o.Expect)
	c.int64(&o.TTL)
	enum(c, &o.Side, turn.Newest)
	c.bool(&o.OnlyExisting)
	if c.later(turn.Level2, o.MustExist || len(o.Set) > 0 || len(o.Unset) > 0) {
		c.bool(&o.MustExist)
		c.stringMap(&o.Set)
		list(c, &o.Unset, c.string)
	}
}

func (c *coder) popOp(o *turn.Pop) {
	c.key(&o.Key)
	enum(c, &o.From, turn.Newest)
	c.uint64(&o.Count)
	c.expect(&o.Expect)
	c.bool(&o.List)
}

func (c *coder) trimOp(o *turn.Trim) {
	c.key(&o.Key)
	enum(c, &o.By, turn.ListRange)
	c.uint64(&o.N)
	c.int64(&o.Start)
	c.int64(&o.Stop)
	c.expect(&o.Expect)
}

func (c *coder) replaceOp(o *turn.Replace) {
	c.key(&o.Key)
	c.uint64(&o.From)
	c.newMessages(&o.Messages)
	c.expect(&o.Expect)
}

func (c *coder) clearOp(o *turn.Clear) {
	c.key(&o.Key)
	c.expect(&o.Expect)
}

func (c *coder) deleteOp(o *turn.Delete) {
	list(c, &o.Keys, c.key)
	c.expect(&o.Expect)
	c.bool(&o.List)
}

func (c *coder) expireOp(o *turn.Expire) {
	c.key(&o.Key)
	c.int64(&o.TTL)
	c.int64(&o.At)
	c.bool(&o.HasTTL)
	c.bool(&o.HasAt)
	c.bool(&o.Slide)
	enum(c, &o.If, turn.IfSomeSooner)
	c.expect(&o.Expect)
	c.bool(&o.List)
}

func (c *coder) forkOp(o *turn.Fork) {
	c.key(&o.Key)
	c.key(&o.To)
	c.uint64(&o.At)
	c.expect(&o.Expect)
}

func (c *coder) rename(o *turn.Rename) {
	c.key(&o.Key)
	c.key(&o.To)
	c.bool(&o.Replace)
	c.expect(&o.Expect)
	c.bool(&o.List)
}

func (c *coder) setMetaOp(o *turn.SetMetadata) {
	c.key(&o.Key)
	c.stringMap(&o.Set)
	list(c, &o.Unset, c.string)
	c.expect(&o.Expect)
	if turn.HasLabels(o.Set) {
		c.needs(turn.Level2)
	}
}

func (c *coder) eraseOp(o *turn.Erase) {
	c.string(&o.Namespace)
	c.string(&o.Prefix)
	c.string(&o.Cursor)
	c.int(&o.Limit)
}

func (c *coder) setElement(o *turn.SetElement) {
	c.key(&o.Key)
	c.int64(&o.Index)
	c.bytes(&o.Data)
}

func (c *coder) insertElement(o *turn.InsertElement) {
	c.key(&o.Key)
	c.bytes(&o.Pivot)
	c.bool(&o.After)
	c.bytes(&o.Data)
}

func (c *coder) removeElements(o *turn.RemoveElements) {
	c.key(&o.Key)
	c.int64(&o.Count)
	c.bytes(&o.Data)
}

func (c *coder) messageRef(m *turn.MessageRef) {
	c.uint64(&m.Seq)
	c.string(&m.ID)
}

func (c *coder) editMessage(o *turn.EditMessage) {
	c.key(&o.Key)
	c.messageRef(&o.Message)
	c.bytes(&o.Data)
	c.expect(&o.Expect)
}

func (c *coder) removeMessage(o *turn.RemoveMessage) {
	c.key(&o.Key)
	c.messageRef(&o.Message)
	c.expect(&o.Expect)
}

func (c *coder) retention(k *turn.Retention) {
	c.uint64(&k.Messages)
	c.uint64(&k.Turns)
}

func (c *coder) retain(o *turn.Retain) {
	c.key(&o.Key)
	c.retention(&o.Keep)
	c.bool(&o.All)
	c.expect(&o.Expect)
}
