package wire

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/turnlog/turnlog/internal/throttle"
)

// Endings are the reasons for closing connections that clients can give as often as
// they like, without being users; so each of them is logged once a second at most.
type Endings struct {
	paused, http, unread, unheard throttle.Throttle
}

// LogPaused logs that the client has paused within a request.
func (w *Wire) LogPaused() {
	w.log(&w.shared.Endings.paused, slog.LevelInfo, "that paused within a request")
}

// LogHTTP logs that the client speaks HTTP.
func (w *Wire) LogHTTP() { w.log(&w.shared.Endings.http, slog.LevelWarn, "that speaks HTTP") }

// StopTime bounds how long a connection that is to end reads what has arrived: a
// client whose pipeline is cut short sends all of it again.
const StopTime = 2 * time.Second

// Stop ends the input: what was received is answered, then the connection closes.
// What blocks ends at once; the requests behind it could not be answered in time.
// Any goroutine may call it.
func (w *Wire) Stop() {
	w.End(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopping {
		w.stopping, w.stopBy = true, time.Now().Add(StopTime)
	}
	w.nc.SetReadDeadline(past)
}

// past as a deadline ends a read or write at once.
var past = time.Unix(1, 0)

// Cut ends a connection that does not read what is pushed to it. It may be called
// by any goroutine, and does not block.
func (w *Wire) Cut() {
	if w.wasCut.Swap(true) {
		return
	}
	w.log(&w.shared.Endings.unheard, slog.LevelWarn, "of a subscriber that does not read its messages")
	w.Stop()
	w.nc.SetWriteDeadline(past)
}

// CutOff closes the socket without a word. With TLS, Close writes first: a client that does
// not read can make its caller wait for seconds. Any goroutine may call CutOff.
func (w *Wire) CutOff() { socket(w.nc).Close() }

// Abort notes that the input cannot be read on: the client is to have the last reply nevertheless.
func (w *Wire) Abort() { w.abort = true }

// Close closes the socket when everything is written. When a socket is closed with unread input, or is sent more, the
// kernel takes back the replies that the client has not received yet: so it is read on for a while.
func (w *Wire) Close() {
	switch {
	case w.abort:
		w.linger(func() bool { return false })
	case w.Stopping() && !w.wasCut.Load():
		w.linger(w.received)
	}
	w.nc.Close()
	w.kept.drop()
}

const (
	lingerTime  = time.Second
	lingerPause = 50 * time.Millisecond // of a client, after which linger looks whether it may end
)

// linger ends the output, and discards input until the client closes, too, or pauses when enough says that it
// suffices.
func (w *Wire) linger(enough func() bool) {
	if half, ok := w.nc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	discarded := make([]byte, 8<<10)
	for until := time.Now().Add(lingerTime); time.Now().Before(until); {
		w.nc.SetReadDeadline(time.Now().Add(lingerPause))
		_, err := w.nc.Read(discarded)
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || enough()) {
			return
		}
	}
}

// received reports whether the client's system has received all replies, as far as can be told.
func (w *Wire) received() (yes bool) {
	yes = true
	if w.raw != nil {
		w.raw.Control(func(fd uintptr) { yes = !unanswered(fd) })
	}
	return yes
}
