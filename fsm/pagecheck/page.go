package pagecheck

import (
	"errors"
	"fmt"
	"io"
)

func lostPage(id uint64) error {
	return damaged("page %d is neither on the tree nor free", id)
}

// damage says what is wrong with a file.
type damage string

func (d damage) Error() string { return string(d) }

func damaged(format string, args ...any) error { return damage(fmt.Sprintf(format, args...)) }

// page reads a page, with those that it continues in, and marks them as used. The bytes
// are valid until the next call.
func (c *check) page(id uint64) ([]byte, error) {
	page, err := c.load(id)
	if err != nil {
		return nil, err
	}
	for i := range uint64(len(page)) / c.root.pageSize {
		if c.used[id+i] {
			return nil, damaged("page %d is used twice", id+i)
		}
		c.used[id+i] = true
	}
	return page, nil
}

// load is page without the marks.
func (c *check) load(id uint64) ([]byte, error) {
	size := c.root.pageSize
	if id >= c.root.high {
		return nil, damaged("page %d is beyond its end", id)
	}
	if err := c.read(id*size, size); err != nil {
		return nil, err
	}
	if own := native.Uint64(c.buf); own != id {
		return nil, damaged("page %d calls itself %d", id, own)
	}
	more := uint64(native.Uint32(c.buf[12:]))
	if id+more >= c.root.high {
		return nil, damaged("page %d goes beyond its end", id)
	}
	if more > 0 {
		if err := c.read(id*size, (1+more)*size); err != nil {
			return nil, err
		}
	}
	return c.buf, nil
}

func (c *check) read(at, n uint64) error {
	if uint64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	c.took += n
	if _, err := c.file.ReadAt(c.buf, int64(at)); errors.Is(err, io.EOF) {
		return damaged("it ends before byte %d", at+n)
	} else if err != nil {
		c.failed = err
		return err
	}
	return nil
}
