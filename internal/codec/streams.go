package codec

import "github.com/turnlog/turnlog/turn"

func (c *coder) entryID(id *turn.EntryID) {
	c.uint64(&id.Time)
	c.uint64(&id.Seq)
}

func (c *coder) entry(e *turn.Entry) {
	c.entryID(&e.ID)
	c.pairs(&e.Fields)
}

func (c *coder) streamTrim(t *turn.StreamTrim) {
	enum(c, &t.By, turn.BeforeID)
	c.uint64(&t.Length)
	c.entryID(&t.ID)
	c.uint64(&t.Limit)
}

func (c *coder) addEntry(o *turn.AddEntry) {
	c.key(&o.Key)
	c.entryID(&o.ID)
	enum(c, &o.Make, turn.IDMade)
	c.pairs(&o.Fields)
	c.streamTrim(&o.Trim)
	c.bool(&o.OnlyExisting)
}

func (c *coder) trimEntries(o *turn.TrimEntries) {
	c.key(&o.Key)
	c.streamTrim(&o.Trim)
}

func (c *coder) removeEntries(o *turn.RemoveEntries) {
	c.key(&o.Key)
	list(c, &o.IDs, c.entryID)
}

func (c *coder) entries(q *turn.Entries) {
	c.key(&q.Key)
	c.entryID(&q.Min)
	c.entryID(&q.Max)
	c.bool(&q.Reverse)
	c.int(&q.Limit)
}
