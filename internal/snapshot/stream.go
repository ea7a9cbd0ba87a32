package snapshot

import (
	"io"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
)

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// dumpStream makes a Reader of a Dump, which is a writer.
type dumpStream struct {
	*io.PipeReader
	done chan struct{}
	end  func()
}

// streamDump streams a dump at so many bytes a second, or as fast as it can if rate
// is not above 0. ended is called once, by Close.
func streamDump(d *fsm.Dump, rate int64, ended func()) io.ReadCloser {
	r, w := io.Pipe()
	stop := make(chan struct{})
	s := &dumpStream{r, make(chan struct{}), sync.OnceFunc(func() {
		close(stop)
		ended()
	})}
	var to io.Writer = w
	if rate > 0 {
		to = &throttled{to: w, rate: rate, stop: stop, began: time.Now()}
	}
	go func() { // ends when all is read, or by Close
		defer close(s.done)
		defer d.Close()
		_, err := d.WriteTo(to)
		_ = w.CloseWithError(err)
	}()
	return s
}

func (s *dumpStream) Close() error {
	s.end()
	err := s.PipeReader.Close()
	<-s.done
	return err
}
