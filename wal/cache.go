package wal

// cache holds the newest records, as they were given to Append, up to a number of bytes. It is a ring: record i is in
// slot i modulo the number of slots, which is a power of two. It is not safe for concurrent use.
type cache struct {
	limit       int64
	bytes       int64
	slots       []Record
	first, next uint64 // holds first…next-1
}

// recordOverhead is roughly what a cached record takes beside its bytes.
const recordOverhead = 80

func cacheCost(r Record) int64 { return recordOverhead + int64(len(r.Meta)) + int64(len(r.Data)) }

func (c *cache) slot(index uint64) *Record { return &c.slots[index&uint64(len(c.slots)-1)] }

func (c *cache) get(index uint64) (Record, bool) {
	if index < c.first || index >= c.next {
		return Record{}, false
	}
	return *c.slot(index), true
}

// add appends a record. One that does not follow the others replaces them all.
func (c *cache) add(r Record) {
	if r.Index != c.next {
		c.clear()
		c.first, c.next = r.Index, r.Index
	}
	if c.next-c.first == uint64(len(c.slots)) {
		c.grow()
	}
	*c.slot(r.Index) = r
	c.next++
	c.bytes += cacheCost(r)
	for c.bytes > c.limit {
		c.drop(c.first)
		c.first++
	}
}

func (c *cache) grow() {
	old := *c
	c.slots = make([]Record, max(64, 2*len(old.slots)))
	for i := c.first; i != c.next; i++ {
		*c.slot(i) = *old.slot(i)
	}
}

// drop releases the bytes of a record; the caller moves first or next past it.
func (c *cache) drop(index uint64) {
	s := c.slot(index)
	c.bytes -= cacheCost(*s)
	*s = Record{}
}

// keep forgets the records outside of first…next-1.
func (c *cache) keep(first, next uint64) {
	for c.first < c.next && c.first < first {
		c.drop(c.first)
		c.first++
	}
	for c.first < c.next && c.next > next {
		c.next--
		c.drop(c.next)
	}
}

func (c *cache) clear() { c.keep(0, 0) }
