package wal

import (
	"sync/atomic"
	"time"
)

// Stats describes a log's activity since it was opened, and its state.
type Stats struct {
	Appends uint64 // calls of Append that succeeded
	Records uint64 // records appended
	Bytes   uint64 // bytes of batches written, without padding

	Syncs     uint64        // syncs of records and truncations
	SyncTotal time.Duration // time spent in them
	SyncLast  time.Duration
	SyncMax   time.Duration
	// SyncStarted is when the sync that is going on now began; zero if there is none. A disk that hangs shows here
	// first.
	SyncStarted time.Time

	CacheHits, CacheMisses uint64 // Gets answered from memory, from disk

	Segments  int   // segment files in use
	Ready     int   // segments prepared and not used yet; while it is 0, a full disk is near or Run is not running
	DiskBytes int64 // size of the used and the prepared segment files
	TornTail  bool  // Open dropped an incomplete batch
}

// counters is the part of Stats that changes without locks.
type counters struct {
	appends, records, bytes      atomic.Uint64
	syncs                        atomic.Uint64
	syncTotal, syncLast, syncMax atomic.Int64
	syncStarted                  atomic.Pointer[time.Time] // nil: none is in flight
	hits, misses                 atomic.Uint64
	tornTail                     atomic.Bool
}

// timedSync syncs the file and keeps account of it.
func (l *Log) timedSync(file File) error {
	start := l.opts.Now()
	l.counters.syncStarted.Store(&start)
	err := file.Sync()
	took := l.opts.Now().Sub(start)
	l.counters.syncStarted.Store(nil)
	l.counters.syncs.Add(1)
	l.counters.syncTotal.Add(int64(took))
	l.counters.syncLast.Store(int64(took))
	l.counters.syncMax.Store(max(l.counters.syncMax.Load(), int64(took))) // one writer at a time
	if l.opts.OnSync != nil {
		l.opts.OnSync(took)
	}
	return err
}

// Stats returns the present figures.
func (l *Log) Stats() Stats {
	c := &l.counters
	s := Stats{
		Appends:     c.appends.Load(),
		Records:     c.records.Load(),
		Bytes:       c.bytes.Load(),
		Syncs:       c.syncs.Load(),
		SyncTotal:   time.Duration(c.syncTotal.Load()),
		SyncLast:    time.Duration(c.syncLast.Load()),
		SyncMax:     time.Duration(c.syncMax.Load()),
		CacheHits:   c.hits.Load(),
		CacheMisses: c.misses.Load(),
		TornTail:    c.tornTail.Load(),
	}
	if started := c.syncStarted.Load(); started != nil {
		s.SyncStarted = *started
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	s.Segments, s.Ready = len(l.table.segments), len(l.ready)
	for _, list := range [][]*segment{l.table.segments, l.ready} {
		for _, seg := range list {
			s.DiskBytes += seg.size
		}
	}
	return s
}
