package wire

import (
	"errors"
	"io"
	"os"

	"github.com/turnlog/turnlog/internal/hangup"
	"github.com/turnlog/turnlog/internal/resp"
)

// Block notes that a request blocks the connection until ended is closed.
func (w *Wire) Block(ended <-chan struct{}) { w.blocking = ended }

// Outlast waits for the end of the request that blocks the connection, if one does,
// and reports whether the client is still there then. What comes meanwhile is kept, by fill as
// far as what reads requests has room, and not looked at: no request takes place behind one that
// blocks, so that none does when the client leaves.
func (w *Wire) Outlast(fill func() error) bool {
	if w.blocking == nil {
		return true
	}
	w.setOutlasts(true)
	err := w.keepInput(fill)
	w.setOutlasts(false)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		<-w.blocking // it has ended, or Stop ends it
		w.blocking = nil
		return true
	}
	return false
}

func (w *Wire) setOutlasts(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outlasts = yes
	w.timed = true // Wake may have set the deadline
}

// Wake ends Outlast. Any goroutine may call it, when the request that blocks has ended.
func (w *Wire) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outlasts {
		w.nc.SetReadDeadline(past)
	}
}

// keepInput reads until the connection ends, or with os.ErrDeadlineExceeded until it
// is woken. When there is no room for more, it only looks for the end.
func (w *Wire) keepInput(fill func() error) error {
	for {
		err := fill()
		if err == resp.ErrFull {
			err = w.keepMore()
		}
		if err != nil {
			return err
		}
	}
}

func (w *Wire) keepMore() error {
	if err := w.setReadDeadline(); err != nil {
		return err
	}
	room := w.kept.room()
	if room == nil {
		return w.awaitEnd()
	}
	n, err := w.read(room)
	w.kept.grew(n)
	return err
}

// awaitEnd waits until the client has closed the connection, with input before that
// end which is not read. The deadline ends it.
func (w *Wire) awaitEnd() error {
	raw := hangup.Raw(socket(w.nc))
	if raw == nil {
		<-w.blocking
		return os.ErrDeadlineExceeded
	}
	// Read calls it again at each event of the socket.
	if err := raw.Read(hangup.Seen); err != nil {
		return err
	}
	return io.EOF
}
