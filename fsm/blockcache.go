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
// ever wrong; what is replaced is dropped since it will not be asked for again. They are kept
// as they were read and found sound: decoded, they would be many more things for the
// collector to look at. A nil cache keeps nothing.
type blockCache struct {
	limit int // bytes

	mu sync.Mutex
	// missed remembers by their hashes what was asked for recently and was not there.
	// What is asked for again is worth to be kept; if everything was, a cache
	// that is too small for what is read would be written to by every read and
	// find little.
	missed []uint32
	hits   uint64
	reads  uint64
	bytes  int
	found  map[blockfile.Ref]*list.Element // of *cachedBlock
	order  *list.List                      // the block used last is in front
}

type cachedBlock struct {
	ref   blockfile.Ref
	block []byte
}

func newBlockCache(limit int) *blockCache {
	return &blockCache{
		limit: limit, found: make(map[blockfile.Ref]*list.Element), order: list.New(),
		missed: make([]uint32, 2*max(limit, 0)/blockBytes+1),
	}
}

// size is about the memory that the block takes.
func (b *cachedBlock) size() int {
	return len(b.block) + smallCost
}

// get returns a block, which must not be written to. If it is not there, and is worth
// to be kept if it is asked for again, again tells whether it is.
func (c *blockCache) get(ref blockfile.Ref, worth bool) (block []byte, ok, again bool) {
	if c == nil {
		return nil, false, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	e, ok := c.found[ref]
	if !ok {
		return nil, false, worth && c.missLocked(ref)
	}
	c.hits++
	c.order.MoveToFront(e)
	return e.Value.(*cachedBlock).block, true, false
}

// missLocked notes a block that is not there. It reports whether it was noted already.
func (c *blockCache) missLocked(ref blockfile.Ref) (again bool) {
	// Multiplicative hashing (Knuth, The Art of Computer Programming, section 6.4).
	const golden = 0x9E3779B97F4A7C15
	h := (ref.File*golden ^ uint64(ref.Offset)) * golden
	place, print := &c.missed[(h>>32)*uint64(len(c.missed))>>32], uint32(h)|1
	again = *place == print
	*place = print
	return again
}

// add keeps a block, which is not written to any more.
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
