package badstores

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// Shared is a store in a directory, which several processes share. The zero value of
// its defects is a correct store: a save is one write at the end of a file. The end of a process can divide it, at
// the end of a page of the file; so each begins a line, and a line that is not whole was never acknowledged.
type Shared struct {
	Dir      string
	Locks    bool // a save holds a lock file, which a process that is killed leaves behind
	Collects bool // saves are collected in the process, and written now and then

	mu        sync.Mutex
	collected []collected
	written   time.Time
}

type collected struct {
	session string
	line    []byte
}

const (
	longestName = 240 // of a file, without the end of a lock's

	lockTime    = 2 * time.Second        // to wait for a lock
	collectTime = 100 * time.Millisecond // between writes of what was collected
)

// Open returns a handle.
func (s *Shared) Open() contract.Store { return &sharedHandle{s} }

type sharedHandle struct{ s *Shared }

func (s *Shared) path(session string) string { return filepath.Join(s.Dir, url.PathEscape(session)) }

func (h *sharedHandle) Add(_ context.Context, session string, turn ...contract.Message) error {
	bodies := make([][]byte, len(turn))
	for i, m := range turn {
		bodies[i] = m.Encode()
	}
	if len(filepath.Base(h.s.path(session))) > longestName {
		return contract.Refusef("a key of %d bytes", len(session))
	}
	line, err := json.Marshal(bodies)
	if err != nil {
		return err
	}
	line = slices.Concat([]byte("\n"), line, []byte("\n"))
	if !h.s.Collects {
		return h.s.write(session, line)
	}
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.collected = append(h.s.collected, collected{session, line})
	if time.Since(h.s.written) < collectTime {
		return nil
	}
	return h.s.flushLocked()
}

// flush writes what this process has collected.
func (s *Shared) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked()
}

func (s *Shared) flushLocked() (err error) {
	for _, c := range s.collected {
		err = errors.Join(err, s.write(c.session, c.line))
	}
	s.collected, s.written = nil, time.Now()
	return err
}

func (s *Shared) write(session string, line []byte) error {
	unlock, err := s.lock(session)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := os.OpenFile(s.path(session), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(line)
	return err
}

// lock creates a file that must not be there, and removes it.
func (s *Shared) lock(session string) (unlock func(), err error) {
	if !s.Locks {
		return func() {}, nil
	}
	path := s.path(session) + ".lock"
	for end := time.Now().Add(lockTime); ; time.Sleep(hop) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			time.Sleep(hop) // so long does a save take
			return func() { f.Close(); os.Remove(path) }, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(contract.ErrNotApplied, err)
		}
	}
}

func (h *sharedHandle) Load(_ context.Context, session string) ([]contract.Message, error) {
	if err := h.s.flush(); err != nil {
		return nil, err
	}
	if len(filepath.Base(h.s.path(session))) > longestName {
		return nil, nil // and never was there anything
	}
	text, err := os.ReadFile(h.s.path(session))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ms []contract.Message
	for line := range bytes.Lines(text) {
		var bodies [][]byte
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &bodies) != nil {
			continue // it is being written, or the process was killed meanwhile
		}
		for _, b := range bodies {
			ms = append(ms, contract.Decode(b))
		}
	}
	return ms, nil
}

func (h *sharedHandle) Clear(_ context.Context, session string) error {
	err := errors.Join(h.s.flush(), os.Remove(h.s.path(session)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (h *sharedHandle) Close() error { return h.s.flush() }
