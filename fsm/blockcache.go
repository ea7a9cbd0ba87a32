package fsm

import (
	"container/list"
	"sync"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

// cacheShare: a block of more than the cacheShare-th part of the cache is not kept.
const cacheShare = 8

// blockCache keeps the blocks that were read last: the ends of the sessions
// that are talked in. What a reference refers to never changes, so nothing in it is
// ever wrong; what is replaced is dropped since nobody will ask for it again. They are kept
// as they were read and found sound: decoded, they would be many more things for the
// collector to look at. A nil cache keeps nothing.
type blockCache struct {
	limit int // bytes

	mu    sync.Mutex
	hits  uint64
	reads uint64
	bytes int
	found map[blockfile.Ref]*list.Element // of *cachedBlock
	order *list.List                      // the block used last is in front
}

type cachedBlock struct {
	ref   blockfile.Ref
	block []byte
}

func newBlockCache(limit int) *blockCache {
	return &blockCache{limit: limit, found: make(map[blockfile.Ref]*list.Element), order: list.New()}
}

// size is about the memory that the block takes.
func (b *cachedBlock) size() int {
	return len(b.block) + smallCost
}

// get returns a block, which must not be written to.
func (c *blockCache) get(ref blockfile.Ref) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	e, ok := c.found[ref]
	if !ok {
		return nil, false
	}
	c.hits++
	c.order.MoveToFront(e)
	return e.Value.(*cachedBlock).block, true
}

// add keeps a block, which nobody may write to any more.
func (c *blockCache) add(ref blockfile.Ref, block []byte) {
	b := &cachedBlock{ref, block}
	if c == nil || b.size() > c.limit/cacheShare {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.found[ref]; known {
		return
	}
	c.found[ref] = c.order.PushFront(b)
	c.bytes += b.size()
	for c.bytes > c.limit {
		c.dropLocked(c.order.Back())
	}
}

// drop forgets a block that is not referred to any more.
func (c *blockCache) drop(ref blockfile.Ref) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.found[ref]; ok {
		c.dropLocked(e)
	}
}

// BlockReads returns how often blocks of messages were needed since the start, and how
// often they were in the cache.
func (m *Machine) BlockReads() (reads, cached uint64) {
	m.cache.mu.Lock()
	defer m.cache.mu.Unlock()
	return m.cache.reads, m.cache.hits
}

func (c *blockCache) dropLocked(e *list.Element) {
	b := c.order.Remove(e).(*cachedBlock)
	delete(c.found, b.ref)
	c.bytes -= b.size()
}
