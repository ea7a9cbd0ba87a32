package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Recorder writes a history. Its methods may be called from any goroutine.
type Recorder struct {
	start time.Time // carries the monotonic clock that every Time is measured on

	mu     sync.Mutex
	file   *os.File
	lastOp int64
	err    error // of the first write that failed; sticky
}

// Create begins a history in a new file at path. Its clock starts now.
func Create(path string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	return &Recorder{start: time.Now(), file: f}, nil
}

// Now is the time since the run began.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Invoke records that process is about to make a call and returns the number
// of the operation. When it returns, the line is with the operating system.
// If it fails, the call must not be made.
func (r *Recorder) Invoke(process int, node, api, session string, call Call) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOp++
	r.writeLocked(&Event{Type: Invoke, Op: r.lastOp, Process: process, Node: node, API: api,
		Session: session, Call: &call})
	return r.lastOp, r.err
}

// Return records how operation op ended: OK with a result, Fail or Info with
// an error.
func (r *Recorder) Return(process int, op int64, typ Type, result *Result, e *Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked(&Event{Type: typ, Op: op, Process: process, Result: result, Error: e})
}

// Fault records the beginning or the end of a fault.
func (r *Recorder) Fault(node, text string, begin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked(&Event{Type: Fault, Node: node, Text: text, Begin: begin})
}

// Note records an observation.
func (r *Recorder) Note(node, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked(&Event{Type: Note, Node: node, Text: text})
}

// writeLocked stamps e and writes it at once, in one call. The stamp is taken
// under the lock: lines are in the order of their times.
func (r *Recorder) writeLocked(e *Event) {
	if r.err != nil {
		return
	}
	e.Time = int64(r.Now())
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		r.err = fmt.Errorf("write history: %w", err)
	}
}

// Close ends the history and returns the first error that writing it met.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.file.Close()
	if r.err == nil && err != nil {
		return fmt.Errorf("close history: %w", err)
	}
	return r.err
}
