package workload

import "github.com/turnlog/turnlog/internal/lincheck/history"

// repeat is an append that may be made again.
type repeat struct {
	session *Session
	call    history.Call
}

// repeatable is how many of its last appends a worker may repeat: the oldest of them are
// forgotten by then, the newest are not.
const repeatable = 16

// repeated appends, repeats what the worker appended before, and has the session grow by many
// messages in between.
func repeated(w *worker, s *Session) history.Call {
	switch w.rand.IntN(10) {
	case 0, 1:
		return w.append(20+w.rand.IntN(41), false)
	case 2, 3, 4:
		c := w.append(1, true)
		w.repeats = append(w.repeats, repeat{s, c})
		w.repeats = w.repeats[max(0, len(w.repeats)-repeatable):]
		return c
	case 5:
		return history.Call{Func: history.Read, Latest: true, N: 1 + w.rand.Uint64N(10)}
	}
	for range 2 * repeatable {
		if len(w.repeats) == 0 {
			break
		}
		if r := w.repeats[w.rand.IntN(len(w.repeats))]; r.session == s {
			r.call.Again = true
			return r.call
		}
	}
	return w.append(1, true)
}
