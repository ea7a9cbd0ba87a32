package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/wal"
)

// highWater is the high-water mark of the log: the last position that this node has
// made durable, and so may have acknowledged.
//
// The log alone cannot tell a last batch that a crash cut short from one that was
// durable and is damaged, nor whether it was replaced by an older copy. So each
// append leaves its last position here, after its sync. If the log ends before the
// mark at the next start, it has lost entries: see ballot.
//
// The mark is written, but not synced with each append. A process that dies leaves
// it exact; a power cut takes it back by markSync at most, which it tolerates: what
// the mark says was durable before it was written.
//
// A nil *highWater keeps nothing.
type highWater struct {
	file  wal.File
	path  string
	owner uint64
	halt  func(error) // does not return
	log   *slog.Logger
	fulls atomic.Uint64 // times that the disk was full

	shown    atomic.Pointer[position] // mark, for those who must not wait for the disk
	furthest atomic.Pointer[position] // peak, for the same

	syncing sync.Mutex // held during a sync, and taken before mu

	mu       sync.Mutex // held while the file is written
	sequence uint64
	mark     position
	peak     position // the furthest mark ever: of what is behind mark, the log was cut rightly
	doubt    uint64
	restored bool // see loss
	missing  bool // the log has not what it had
	dirty    bool // written and not synced
	behind   bool // the file has an older mark: the disk was full
}

// markSync is how often the mark is synced while it moves.
const markSync = time.Second

// before orders positions as Raft does when it compares logs.
func (p position) before(q position) bool {
	return p.term < q.term || p.term == q.term && p.index < q.index
}

func (p position) String() string { return fmt.Sprintf("entry %d of term %d", p.index, p.term) }

// lossLocked returns the mark, and what is in doubt. The caller holds mu.
func (h *highWater) lossLocked() loss { return loss{h.mark, h.doubt, h.restored} }

// set makes l.had the mark, and notes the doubt. The caller holds mu.
func (h *highWater) set(l loss) error {
	if l == h.lossLocked() && !h.behind {
		return nil
	}
	h.mark, h.doubt, h.restored = l.had, l.doubt, l.restored
	if h.peak.before(h.mark) {
		h.peak = h.mark
	}
	h.show()
	err := h.write()
	if h.behind = err != nil; err != nil {
		return fmt.Errorf("raftstore: write %s: %w", h.path, err)
	}
	return nil
}

// show publishes mark and peak. The caller holds mu, or is the only one yet.
func (h *highWater) show() {
	mark, peak := h.mark, h.peak
	h.shown.Store(&mark)
	h.furthest.Store(&peak)
}

// advisory returns an error of the file, unless the disk is full: an older mark than the log
// has is a lower bound, as after a power cut.
func (h *highWater) advisory(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	if h.fulls.Add(1) == 1 {
		h.log.Warn("the disk is full: the log's high-water mark is not kept until it has room", "error", err)
	}
	return nil
}

// reached notes that the log is durable up to p, where it ends.
func (h *highWater) reached(p position) {
	if h == nil {
		return
	}
	if err := h.advisory(h.raise(p)); err != nil {
		h.halt(err)
	}
}

// raise makes p the mark unless it is behind it.
func (h *highWater) raise(p position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.before(h.mark) {
		return nil
	}
	var err error
	if h.missing && h.lossLocked().covers(p) {
		err = h.wholeLocked(p)
	}
	return errors.Join(err, h.set(loss{p, h.doubt, h.restored}))
}

// trusted ends a doubt: the log, which goes to end, is that of a leader that knows.
func (h *highWater) trusted(doubt uint64, end position) {
	if err := h.advisory(h.endDoubt(doubt, end)); err != nil {
		h.halt(err)
	}
}

func (h *highWater) endDoubt(doubt uint64, end position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doubt != doubt { // there is a new one
		return nil
	}
	return h.wholeLocked(end)
}

func (h *highWater) wholeLocked(end position) error {
	h.log.Info("the log holds again what it had lost; the node votes again", "lost", h.lossLocked(), "end", end)
	h.missing = false
	return h.set(loss{had: h.mark})
}

// cut notes, durably, that the log is to end at p, and rightly: nothing behind it was
// committed. What was lost stays lost, unless p is beyond it.
func (h *highWater) cut(p position) {
	if h == nil {
		return
	}
	h.reached(p)
	if err := errors.Join(h.lower(p), h.sync()); err != nil {
		h.halt(err)
	}
}

// lower makes p the mark, unless the log has lost entries.
func (h *highWater) lower(p position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.missing {
		return nil
	}
	return h.set(loss{had: p})
}

// lost notes a loss, durably.
func (h *highWater) lost(l loss) error { return errors.Join(h.lose(l), h.sync()) }

func (h *highWater) lose(l loss) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = true
	if l.had.before(h.mark) {
		l.had = h.mark
	}
	l.doubt, l.restored = max(h.doubt, l.doubt), h.restored || l.restored
	return h.set(l)
}

// prolong has a doubt that is due to an older copy include that term, durably.
func (h *highWater) prolong(term uint64) error {
	longer, err := h.extend(term)
	if !longer {
		return nil
	}
	return errors.Join(err, h.sync())
}

func (h *highWater) extend(term uint64) (longer bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.restored || term <= h.doubt {
		return false, nil
	}
	return true, h.set(loss{h.mark, term, true})
}

// lacks returns what the log has lost; false: nothing.
func (h *highWater) lacks() (loss, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lossLocked(), h.missing
}

// position returns the mark. It does not wait for the disk.
func (h *highWater) position() position { return *h.shown.Load() }

// ever returns the furthest mark that there was. It does not wait for the disk.
func (h *highWater) ever() position { return *h.furthest.Load() }

// sync makes durable what was set before the call. The file may be written meanwhile.
func (h *highWater) sync() error {
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
		return fmt.Errorf("raftstore: sync %s: %w", h.path, err)
	}
	return nil
}

// Run syncs the mark from time to time until ctx ends.
func (h *highWater) Run(ctx context.Context) error {
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
func (h *highWater) Close() error { return errors.Join(h.sync(), h.file.Close()) }
