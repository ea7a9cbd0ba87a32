package raftlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/vfs"
)

// HighWater is the high-water mark of the log: the last position that this node has
// made durable, and so may have acknowledged.
//
// The log alone cannot tell a last batch that a crash cut short from one that was
// durable and is damaged, nor whether it was replaced by an older copy. So each
// append leaves its last position here, after its sync. If the log ends before the
// mark at the next start, it has lost entries, and the node must not vote
// as if it had them.
//
// The mark is written, but not synced with each append. A process that dies leaves
// it exact; a power cut takes it back by markSync at most, which it tolerates: what
// the mark says was durable before it was written.
//
// A nil *HighWater keeps nothing.
type HighWater struct {
	file  vfs.File
	path  string
	owner uint64
	halt  func(error) // does not return
	log   *slog.Logger
	fulls atomic.Uint64 // times that the disk was full

	shown    atomic.Pointer[Position] // mark, for callers that must not wait for the disk
	furthest atomic.Pointer[Position] // peak, for the same

	syncing sync.Mutex // held during a sync, and taken before mu

	mu       sync.Mutex // held while the file is written
	sequence uint64
	mark     Position
	peak     Position // the furthest mark ever: of what is behind mark, the log was cut rightly
	doubt    uint64
	restored bool // see Loss
	missing  bool // the log has not what it had
	dirty    bool // written and not synced
	behind   bool // the file has an older mark: the disk was full
}

// markSync is how often the mark is synced while it moves.
const markSync = time.Second

// lossLocked returns the mark, and what is in doubt. The caller holds mu.
func (h *HighWater) lossLocked() Loss { return Loss{h.mark, h.doubt, h.restored} }

// set makes l.had the mark, and notes the doubt. The caller holds mu.
func (h *HighWater) set(l Loss) error {
	if l == h.lossLocked() && !h.behind {
		return nil
	}
	h.mark, h.doubt, h.restored = l.Had, l.Doubt, l.Restored
	if h.peak.Before(h.mark) {
		h.peak = h.mark
	}
	h.show()
	err := h.write()
	if h.behind = err != nil; err != nil {
		return fmt.Errorf("raftlog: write %s: %w", h.path, err)
	}
	return nil
}

// advisory returns an error of the file, unless the disk is full: an older mark than the log
// has is a lower bound, as after a power cut.
func (h *HighWater) advisory(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	if h.fulls.Add(1) == 1 {
		h.log.Warn("the disk is full: the log's high-water mark is not saved until there is space", "error", err)
	}
	return nil
}

// Reached notes that the log is durable up to p, where it ends.
func (h *HighWater) Reached(p Position) {
	if h == nil {
		return
	}
	if err := h.advisory(h.raise(p)); err != nil {
		h.halt(err)
	}
}

// raise makes p the mark unless it is behind it.
func (h *HighWater) raise(p Position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.Before(h.mark) {
		return nil
	}
	var err error
	if h.missing && h.lossLocked().Covers(p) {
		err = h.wholeLocked(p)
	}
	return errors.Join(err, h.set(Loss{p, h.doubt, h.restored}))
}

// EndDoubt ends a doubt: the log, which goes to end, is that of a leader that knows.
func (h *HighWater) EndDoubt(doubt uint64, end Position) {
	if err := h.advisory(h.clearDoubt(doubt, end)); err != nil {
		h.halt(err)
	}
}

func (h *HighWater) clearDoubt(doubt uint64, end Position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doubt != doubt { // there is a new one
		return nil
	}
	return h.wholeLocked(end)
}

func (h *HighWater) wholeLocked(end Position) error {
	h.log.Info("the log has recovered what it had lost; the node votes again", "lost", h.lossLocked(), "end", end)
	h.missing = false
	return h.set(Loss{Had: h.mark})
}

// cut notes, durably, that the log is to end at p, and rightly: nothing behind it was
// committed. What was lost stays lost, unless p is beyond it.
func (h *HighWater) cut(p Position) {
	if h == nil {
		return
	}
	h.Reached(p)
	if err := errors.Join(h.lower(p), h.sync()); err != nil {
		h.halt(err)
	}
}

// lower makes p the mark, unless the log has lost entries.
func (h *HighWater) lower(p Position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.missing {
		return nil
	}
	return h.set(Loss{Had: p})
}

// NoteLoss notes a loss, durably.
func (h *HighWater) NoteLoss(l Loss) error { return errors.Join(h.lose(l), h.sync()) }

func (h *HighWater) lose(l Loss) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = true
	if l.Had.Before(h.mark) {
		l.Had = h.mark
	}
	l.Doubt, l.Restored = max(h.doubt, l.Doubt), h.restored || l.Restored
	return h.set(l)
}

// ProlongDoubt has a doubt that is due to an older copy include that term, durably.
func (h *HighWater) ProlongDoubt(term uint64) error {
	longer, err := h.extend(term)
	if !longer {
		return nil
	}
	return errors.Join(err, h.sync())
}

func (h *HighWater) extend(term uint64) (longer bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.restored || term <= h.doubt {
		return false, nil
	}
	return true, h.set(Loss{h.mark, term, true})
}

// Lost returns what the log has lost; false: nothing.
func (h *HighWater) Lost() (Loss, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lossLocked(), h.missing
}

// Position returns the mark. It does not wait for the disk.
func (h *HighWater) Position() Position { return *h.shown.Load() }

// Furthest returns the furthest mark that there was. It does not wait for the disk.
func (h *HighWater) Furthest() Position { return *h.furthest.Load() }

// sync makes durable what was set before the call. The file may be written meanwhile.
func (h *HighWater) sync() error {
	h.syncing.Lock()
	defer h.syncing.Unlock()
	h.mu.Lock()
	dirty := h.dirty
	h.dirty = false
	h.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := h.file.Sync(); err != nil {
		h.mu.Lock()
		h.dirty, h.behind = true, true
		h.mu.Unlock()
		return fmt.Errorf("raftlog: sync %s: %w", h.path, err)
	}
	return nil
}

// Path returns the path of the mark's file.
func (h *HighWater) Path() string { return h.path }

// Run syncs the mark from time to time until ctx ends.
func (h *HighWater) Run(ctx context.Context) error {
	tick := time.NewTicker(markSync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := h.advisory(h.sync()); err != nil {
				return err
			}
		}
	}
}

// Close syncs the mark and closes its file.
func (h *HighWater) Close() error { return errors.Join(h.sync(), h.file.Close()) }
