// Package blockcache caches the message blocks that were read from block files recently.
//
// A block file is only ever appended to, so that a cached block is never stale. Blocks are evicted in the order of
// their last use, and a block enters the cache only when it is read a second time within a while: a scan through old
// sessions does not evict what clients read again and again. A Cache has a lock of its own, and may be used by any
// goroutine.
package blockcache

import (
	"container/list"
	"sync"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

const (
	// share: a block of more than the share-th part of the cache is not kept.
	share = 8
	// fullBlock is how many bytes most blocks have.
	fullBlock = 8 << 10
	// overhead is the memory that a block takes besides its bytes, roughly.
	overhead = 150
)

// Cache keeps the blocks that were read last: the ends of the sessions
// that are talked in. What a reference refers to never changes, so nothing in it is
// ever wrong; what is replaced is dropped since it will not be asked for again. They are kept
// as they were read and found sound: decoded, they would be many more things for the
// collector to look at. Get, Add and Drop may be called on a nil cache, which keeps nothing.
// Methods may be called from any goroutine.
type Cache struct {
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

// New returns a cache of so many bytes. If limit is not positive, it keeps nothing.
func New(limit int) *Cache {
	return &Cache{
		limit: limit, found: make(map[blockfile.Ref]*list.Element), order: list.New(),
		missed: make([]uint32, 2*max(limit, 0)/fullBlock+1),
	}
}

// size is about the memory that the block takes.
func (b *cachedBlock) size() int {
	return len(b.block) + overhead
}

// Get returns a block, which must not be written to. If it is not there, and is worth
// to be kept if it is asked for again, again tells whether it is.
func (c *Cache) Get(ref blockfile.Ref, worth bool) (block []byte, ok, again bool) {
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
func (c *Cache) missLocked(ref blockfile.Ref) (again bool) {
	// Multiplicative hashing (Knuth, The Art of Computer Programming, section 6.4).
	const golden = 0x9E3779B97F4A7C15
	h := (ref.File*golden ^ uint64(ref.Offset)) * golden
	place, print := &c.missed[(h>>32)*uint64(len(c.missed))>>32], uint32(h)|1
	again = *place == print
	*place = print
	return again
}

// Add keeps a block, which is not written to any more.
func (c *Cache) Add(ref blockfile.Ref, block []byte) {
	b := &cachedBlock{ref, block}
	if c == nil || b.size() > c.limit/share {
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

// Drop forgets a block that is not referred to any more.
func (c *Cache) Drop(ref blockfile.Ref) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.found[ref]; ok {
		c.dropLocked(e)
	}
}

// Reads returns how often blocks were asked for, and how often they were there.
func (c *Cache) Reads() (asked, found uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads, c.hits
}

// Size returns how many blocks the cache keeps, and about how much memory they take.
func (c *Cache) Size() (blocks, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.found), c.bytes
}

func (c *Cache) dropLocked(e *list.Element) {
	b := c.order.Remove(e).(*cachedBlock)
	delete(c.found, b.ref)
	c.bytes -= b.size()
}
