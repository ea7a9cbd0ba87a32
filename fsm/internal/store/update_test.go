package store

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// badSector fails to be read from a place on.
type badSector struct {
	io.ReaderAt
	from int64
	err  error
}

func (s badSector) ReadAt(b []byte, at int64) (int, error) {
	if at >= s.from {
		return 0, &os.PathError{Op: "read", Path: "state.db", Err: s.err}
	}
	return s.ReaderAt.ReadAt(b, at)
}

// An update that comes to a bad sector of the store finds it damaged. That a read failed for
// another reason says nothing of the store.
func TestUpdateComesToABadSector(t *testing.T) {
	for _, from := range []int64{0, 2 * int64(os.Getpagesize())} {
		for reason, damage := range map[syscall.Errno]bool{syscall.EIO: true, syscall.ENOMEM: false} {
			s, err := Open(Options{Dir: t.TempDir(), Disk: OSDisk{}, Log: slog.Default()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			tx, err := s.Load()
			if err != nil {
				t.Fatal(err)
			}
			tx.End()
			put := func(u *Update) error { return u.Bucket(layout.BucketHeads).PutSealed([]byte("0\x00k"), nil) }
			if err := s.Update(put); err != nil {
				t.Fatal(err)
			}
			err = s.Update(func(u *Update) error {
				u.bytes = badSector{s.dbFile.Load(), from, reason}
				return put(u)
			})
			if !errors.Is(err, reason) && !damage || (turn.KindOf(err) == turn.Corrupt) != damage {
				t.Errorf("%v from %d on: %v; want damage: %v", reason, from, err, damage)
			}
			if err := s.Update(put); err != nil {
				t.Errorf("after %v from %d on: %v", reason, from, err)
			}
		}
	}
}
