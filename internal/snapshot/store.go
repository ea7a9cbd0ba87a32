package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// Store is a raft.SnapshotStore. It keeps at most one snapshot, in a form that costs nothing: the
// state machine's own file holds the state, and a snapshot is a marker that says
// up to where that file was known to be durable when the marker was made.
//
// Its method Open streams the state as it is then, which may include entries behind the
// marker's index. That is sound: those entries are committed, the receiver is
// sent them again from the log, and its state machine passes over entries that
// its state includes already. It cannot include less, because the marker is
// written after the flush.
//
// A snapshot that comes from a leader is a file of its own until the state
// machine has taken it over; then it becomes a marker, too.
//
//	snapshot.json  the newest snapshot, replaced as a whole; see package smallfile
//	received.dump  the state, if snapshot.json says "received"
//	*.tmp          unfinished; removed when the store is opened
type Store struct {
	dir       string
	state     *fsm.Machine
	rate      int64 // of streams to other nodes, in bytes a second; 0: no bound
	transfers transfers

	keeping sync.Mutex // held while the newest snapshot is replaced

	mu     sync.Mutex
	newest *marker // nil: none
	// reached tells how far Raft has applied its log; nil before it runs.
	reached func() uint64
}

// Follow has the store refuse what Raft has passed already.
func (s *Store) Follow(reached func() uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = reached
}

// passed reports whether a snapshot from a leader ends before what this node has
// applied. A leader that knows this node sends none such; but one goes on for some
// seconds with what it believed of a member that was removed, and added again
// since. To take it would be to forget entries, and the configuration, that came
// after it.
func (s *Store) passed(index uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached != nil && index < s.reached()
}

// Config configures a Store.
type Config struct {
	State *fsm.Machine
	// Rate is how many bytes a second a snapshot is sent with; not above 0: no bound.
	Rate int64
	// Clock tells the time; intervals are measured with it.
	Clock  interface{ Now() time.Time }
	Advice string // what to do with a node whose snapshot is damaged; ends an error
	Logger *slog.Logger
}

// Open opens the snapshots in dir, or makes the folder, and removes what is unfinished. It
// starts nothing.
func Open(dir string, cfg Config) (*Store, error) {
	if err := (vfs.OS{}).MkdirAll(dir); err != nil {
		return nil, err
	}
	temps, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if err != nil {
		return nil, err
	}
	for _, t := range temps {
		if err := os.Remove(t); err != nil {
			return nil, err
		}
	}
	s := &Store{dir: dir, state: cfg.State, rate: cfg.Rate, transfers: transfers{clock: cfg.Clock}}
	c, err := readMarker(s.path(MarkerName), cfg.Advice)
	if err != nil {
		return nil, err
	}
	if s.newest = c.Best; s.newest != nil {
		c.Mend(s.path(MarkerName), func() error { return s.write(*s.newest) }, cfg.Logger)
	}
	if s.newest == nil || !s.newest.Received { // a dump without its marker is unfinished, too
		if err := os.Remove(s.path(dumpName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return s, nil
}

// MarkerPath returns the path of the file that says up to where the newest snapshot goes.
func (s *Store) MarkerPath() string { return s.path(MarkerName) }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// keep makes m the newest snapshot, durably, unless there is a newer one: a local
// snapshot may finish after one that the leader sent, or at the same time.
func (s *Store) keep(m marker) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	return s.keepLocked(m)
}

// keepReceived is keep for a snapshot whose state is in a file.
func (s *Store) keepReceived(m marker, file string) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if err := s.superseded(m); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	if err := os.Rename(file, s.path(dumpName)); err != nil {
		return err
	}
	if err := (vfs.OS{}).SyncDir(s.dir); err != nil {
		return err
	}
	return s.keepLocked(m)
}

func (s *Store) superseded(m marker) error {
	if p := s.Position(); m.Index < p.Index {
		return fmt.Errorf("snapshot: the snapshot at log entry %d is superseded by the one at %d", m.Index, p.Index)
	}
	return nil
}

// keepLocked is keep for callers that hold keeping.
func (s *Store) keepLocked(m marker) error {
	if err := s.superseded(m); err != nil {
		return err
	}
	if err := s.write(m); err != nil {
		return err
	}
	s.mu.Lock()
	s.newest = &m
	s.mu.Unlock()
	return nil
}

func (s *Store) write(m marker) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	return smallfile.WriteCopies(s.path(MarkerName), b)
}

// Position returns the newest snapshot's last entry; index 0 if there is none.
func (s *Store) Position() raftlog.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return raftlog.Position{}
	}
	return raftlog.Position{Index: s.newest.Index, Term: s.newest.Term}
}

// Check holds the state against the marker: it must not end before that says, unless what
// it lacks was received.
func (s *Store) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, _ := s.state.Durable()
	if s.newest == nil || s.newest.Received || have >= s.newest.Index {
		return nil
	}
	return turn.Errorf(turn.Corrupt,
		"the snapshot says that the state includes log entry %d, but it ends at entry %d: the state file was lost or "+
			"replaced",
		s.newest.Index, have)
}

// Adopt brings state machine and snapshot together: what was received is
// restored unless the state includes it already. It is called when a snapshot
// came, and at start, when a crash may have come between any two of its steps.
func (s *Store) Adopt() error {
	s.mu.Lock()
	newest := s.newest
	s.mu.Unlock()
	if newest == nil {
		return nil
	}
	if err := s.Check(); err != nil {
		return err
	}
	m := *newest
	if have, _ := s.state.Durable(); have < m.Index {
		if err := s.restore(m); err != nil {
			return err
		}
	}
	if !m.Received {
		return nil
	}
	m.Received, m.Size = false, 0
	if err := s.keep(m); err != nil {
		return err
	}
	return os.Remove(s.path(dumpName))
}

func (s *Store) restore(m marker) error {
	f, err := descriptors.Open(func() (*os.File, error) { return os.Open(s.path(dumpName)) })
	if err != nil {
		return fmt.Errorf("snapshot: open the received snapshot: %w", err)
	}
	defer f.Close()
	if err := s.state.Restore(f); err != nil {
		return fmt.Errorf("snapshot: restore the received snapshot: %w", err)
	}
	if have, _ := s.state.Durable(); have < m.Index {
		return fmt.Errorf("snapshot: the received snapshot says log entry %d, its state ends at entry %d",
			m.Index, have)
	}
	return nil
}

// List implements raft.SnapshotStore.
func (s *Store) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return nil, nil
	}
	return []*raft.SnapshotMeta{s.newest.meta(s.newest.Size)}, nil
}

// Open implements raft.SnapshotStore. There is one snapshot, the newest; one that was
// replaced since it was listed is not there any more.
func (s *Store) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	newest := s.newest
	s.mu.Unlock()
	if newest == nil {
		return nil, nil, fmt.Errorf("snapshot: there is no snapshot")
	}
	if have := newest.meta(0).ID; have != id {
		return nil, nil, fmt.Errorf("snapshot: there is no snapshot %s, the newest is %s", id, have)
	}
	if newest.Received {
		// Raft asks for it in order to restore it, which adopt does.
		return newest.meta(newest.Size), io.NopCloser(eof{}), nil
	}
	d, err := s.state.Dump()
	if err != nil {
		return nil, nil, err
	}
	if d.Index < newest.Index {
		_ = d.Close()
		return nil, nil, fmt.Errorf("snapshot: the state ends at log entry %d, before the snapshot at %d", d.Index,
			newest.Index)
	}
	return newest.meta(d.Size), s.Stream(d), nil
}

// Stream streams a dump, at the configured rate. Until it is closed, and some seconds more, the
// log's tail is longer: see tail. It closes the dump.
func (s *Store) Stream(d *fsm.Dump) io.ReadCloser {
	return streamDump(d, s.rate, s.transfers.begin(d.Size))
}

// StreamAside is Stream for a receiver that is sent no log afterwards: no tail is kept for it.
func (s *Store) StreamAside(d *fsm.Dump) io.ReadCloser { return streamDump(d, s.rate, func() {}) }

// Tail returns how many bytes of log are to be kept, given how many usually are: more while
// snapshots are sent.
func (s *Store) Tail(usual int64) int64 { return s.transfers.tail(usual) }
