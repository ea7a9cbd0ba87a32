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
	if c.later(turn.Level2, o.KeepValue) {
		c.bool(&o.KeepValue)
	}
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

func (c *coder) setScores(o *turn.SetScores) {
	c.key(&o.Key)
	list(c, &o.Members, func(m *turn.Score) {
		c.string(&m.Member)
		c.float64(&m.Score)
	})
	for _, b := range [...]*bool{&o.OnlyNew, &o.OnlyExisting, &o.OnlyGreater, &o.OnlyLess, &o.Changed, &o.Increment} {
		c.bool(b)
	}
}

func (c *coder) bound(b *turn.Bound) {
	c.float64(&b.Score)
	c.string(&b.Name)
	c.bool(&b.Exclusive)
	c.bool(&b.Open)
}

func (c *coder) scores(q *turn.Scores) {
	c.key(&q.Key)
	enum(c, &q.By, turn.ByName)
	c.int64(&q.Start)
	c.int64(&q.Stop)
	c.bound(&q.Min)
	c.bound(&q.Max)
	c.bool(&q.Reverse)
	c.int(&q.Offset)
	c.int(&q.Limit)
}

func (c *coder) removeScores(o *turn.RemoveScores) {
	c.scores(&o.Of)
	c.bool(&o.Answer)
}

func (c *coder) rank(q *turn.Rank) {
	c.key(&q.Key)
	c.string(&q.Member)
	c.bool(&q.Reverse)
}

func (c *coder) lookup(q *turn.Lookup) {
	list(c, &q.Keys, c.key)
	c.bool(&q.Strings)
}

func (c *coder) combineSets(q *turn.CombineSets) {
	list(c, &q.Keys, c.key)
	enum(c, &q.By, turn.Difference)
	c.bool(&q.OnlyCount)
	c.uint64(&q.Limit)
}

func (c *coder) storeSets(o *turn.StoreSets) {
	c.key(&o.To)
	c.combineSets(&o.Of)
}
