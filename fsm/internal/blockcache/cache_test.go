package blockcache

import (
	"testing"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

func TestBlockCacheKeepsWhatWasUsedLast(t *testing.T) {
	ref := func(i int) blockfile.Ref { return blockfile.Ref{File: 1, Offset: int64(i), Length: 1000} }
	c := New(10 * (1000 + overhead))
	block := make([]byte, 1000)
	for i := range 10 {
		c.Add(ref(i), block)
		c.Add(ref(i), block) // by two that read it at once
	}
	c.Get(ref(0), true)
	c.Add(ref(10), block)
	c.Drop(ref(5))
	c.Drop(ref(77))
	for i := range 11 {
		_, ok, again := c.Get(ref(i), true)
		if gone := i == 1 || i == 5; ok == gone || again {
			t.Errorf("block %d is kept: %v, was missed before: %v", i, ok, again)
		}
		if _, _, again = c.Get(ref(i), true); again == ok {
			t.Errorf("block %d is kept: %v, and the second time it was missed before: %v", i, ok, again)
		}
	}
	if want := c.limit * 9 / 10; c.bytes != want || c.order.Len() != 9 || len(c.found) != 9 {
		t.Errorf("9 blocks of %d bytes count as %d, %d of %d bytes", want, c.order.Len(), len(c.found), c.bytes)
	}
	big := blockfile.Ref{File: 2, Length: c.limit / 4}
	if c.Add(big, make([]byte, big.Length)); len(c.found) != 9 {
		t.Error("a block of a quarter of the cache is kept")
	}
}
