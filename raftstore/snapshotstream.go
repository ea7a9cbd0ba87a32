package raftstore

import (
	"io"

	"github.com/turnlog/turnlog/fsm"
)

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// dumpStream makes a Reader of a Dump, which is a writer.
type dumpStream struct {
	*io.PipeReader
	done chan struct{}
}

func streamDump(d *fsm.Dump) io.ReadCloser {
	r, w := io.Pipe()
	s := &dumpStream{r, make(chan struct{})}
	go func() { // ends when all is read, or by Close
		defer close(s.done)
		defer d.Close()
		_, err := d.WriteTo(w)
		_ = w.CloseWithError(err)
	}()
	return s
}

func (s *dumpStream) Close() error {
	err := s.PipeReader.Close()
	<-s.done
	return err
}
