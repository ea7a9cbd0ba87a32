package fsm

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// badSector fails to be read from a place on.
type badSector struct {
	io.ReaderAt
	from int64
	err  error
}

func (s badSector) ReadAt(b []byte, at int64) (int, error) {
	if at >= s.from {
		return 0, &os.PathError{Op: "read", Path: storeName, Err: s.err}
	}
	return s.ReaderAt.ReadAt(b, at)
}

// A flush that comes to a bad sector of the store halts the machine, which is repaired then: it
// does not end it. That a read failed for another reason says nothing of the store.
func TestFlushComesToABadSector(t *testing.T) {
	for _, from := range []int64{0, 2 * int64(os.Getpagesize())} {
		for reason, damage := range map[syscall.Errno]bool{syscall.EIO: true, syscall.ENOMEM: false} {
			r, _ := repairable(t)
			r.apply(1, appendOf(sessionA, "id", "hello"))
			r.flush()
			w := r.m.writer(newMemtable())
			err := r.m.commit(w, func() error {
				w.tx.bytes = badSector{r.m.dbFile, from, reason}
				return w.tx.Bucket(layout.BucketHeads).Put([]byte("0\x00k"), nil)
			})
			_, halted := r.m.Damage()
			if err == nil || halted != damage || (r.m.Err() == nil) != damage {
				t.Errorf("%v from %d on: %v; halted: %v, ended: %v", reason, from, err, halted, r.m.Err())
			}
		}
	}
}
