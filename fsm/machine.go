package fsm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/internal/tags"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/signal"
)

// Machine is the state machine: all sessions of a node, in memory and in a
// bbolt file.
//
// Apply, Note and Restore are called by one goroutine, in log order; every
// other method by any.
type Machine struct {
	cfg Config

	// flushing is held while a memtable is on its way to the store, and by
	// Restore. It comes before mu.
	flushing sync.Mutex

	mu stateLock
	// room is signalled when the frozen memtable has been taken up; uses mu.
	room     *sync.Cond
	store    *store.Store
	keys     *keyspace.Keys
	sessions *sessions.Operations
	full     int // at this size the active memtable is to be flushed
	// reached is the cluster level, for callers that must not wait for mu.
	reached   atomic.Uint64
	standing  atomic.Pointer[standing]
	replaced  chan struct{} // see Replaced
	tags      tags.Set
	durable   position
	lastFlush time.Time // when the last one began; only under flushing
	hash      stateHash
	// damage is the first that was found, nil: none is known. halted: nothing is to be
	// read of the state or applied to it; broken: not before it is replaced.
	damage         error
	halted, broken bool

	failed error
	fatal  chan struct{} // closed when failed is set

	waiters waiters
	kick    signal.Channel // a flush is wanted
	doubts  signal.Channel // a scrub is wanted
	hurries atomic.Int32   // callers that wait for a flush to end
}

type position struct{ index, term uint64 }

// standing is what is told of the state without a wait for mu, which is held for as long as the disk
// takes to read what an entry needs: a node has to go on voting and following meanwhile.
type standing struct {
	applied   position
	clusterID string
	members   []codec.Member
}

// stand has others see how far the state is. The caller holds mu, and wakes those that wait for it
// after that.
func (m *Machine) stand() {
	m.standing.Store(&standing{position{m.keys.Meta.Index, m.keys.Meta.Term}, m.keys.Meta.ClusterID,
		m.keys.Meta.Members})
}

// Open opens the state in cfg.Dir, creating it if it is not there.
func Open(cfg Config) (*Machine, error) {
	cfg = cfg.withDefaults()
	store, err := store.Open(store.Options{Dir: cfg.Dir, Disk: cfg.disk, BlockFileBytes: cfg.BlockFileBytes,
		CacheBytes: cfg.CacheBytes, Log: cfg.Logger})
	if err != nil {
		return nil, err
	}
	m := &Machine{
		cfg:      cfg,
		store:    store,
		keys:     keyspace.New(store, cfg.Rand),
		fatal:    make(chan struct{}),
		kick:     signal.New(),
		replaced: make(chan struct{}),
		doubts:   signal.New(),
	}
	m.mu.measure()
	m.sessions = sessions.New(m.keys, cfg.WindowBytes)
	m.room = sync.NewCond(&m.mu)
	if err := m.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", store.Path(), err), store.Close())
	}
	if cfg.Damaged != nil {
		m.damage, m.halted, m.broken = cfg.Damaged, true, true
	}
	return m, nil
}

// load takes the state over from the store, forgetting what is in memory.
func (m *Machine) load() error {
	tx, err := m.store.Load()
	if err != nil {
		return err
	}
	defer tx.End()
	meta, tags, err := tx.Meta()
	if err != nil {
		return err
	}
	if err := m.keys.Load(tx, meta); err != nil {
		return err
	}
	m.tags = tags
	m.reached.Store(uint64(meta.Level))
	m.damage, m.broken = nil, false
	m.drawFull()
	m.sessions.IDs.Windows.Clear()
	m.durable = position{meta.Index, meta.Term}
	m.stand()
	return nil
}

// freeze makes the active memtable the frozen one, unless one is frozen already:
// a flush failed, and is to be done again. The caller holds mu.
func (m *Machine) freeze() {
	if m.keys.Tables.Frozen != nil {
		return
	}
	m.keys.Tables.Freeze(m.keys.Meta, m.tags)
	m.drawFull()
}

// drawFull decides how full the active memtable, which is new, may become. The caller holds mu.
func (m *Machine) drawFull() {
	m.full = m.cfg.FlushBytes - int(m.cfg.Rand()*float64(m.cfg.FlushBytes)/3)
}

// Close closes the store. What was not flushed is not in it.
func (m *Machine) Close() error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	m.mu.Lock()
	m.fail(errClosed)
	m.mu.Unlock()
	return m.store.Close()
}

var errClosed = errors.New("the state machine is closed")

// MapLeft returns by how many bytes the state file can grow before flushes wait for the end of all dumps. It waits
// for nothing.
func (m *Machine) MapLeft() int64 { return m.store.MapLeft() }

// OpenFiles returns how many block files are open. Their number grows with the data.
func (m *Machine) OpenFiles() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.store.OpenFiles()
}

// BlockReads returns how often blocks of messages were needed since the start, and how
// often they were in the cache.
func (m *Machine) BlockReads() (reads, cached uint64) { return m.store.BlockReads() }

// Fatal returns a channel that is closed when the machine cannot continue; Err then says why. The node
// must stop, because its answers may be wrong.
func (m *Machine) Fatal() <-chan struct{} { return m.fatal }

// Err returns why the machine stopped, nil while it runs.
func (m *Machine) Err() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.failed
}

// Applied returns the index and term of the last entry whose effects can be read.
func (m *Machine) Applied() (index, term uint64) {
	s := m.standing.Load()
	return s.applied.index, s.applied.term
}

// WaitApplied returns nil once the entry index is applied.
func (m *Machine) WaitApplied(ctx context.Context, index uint64) error {
	m.mu.RLock()
	done, failed := m.keys.Meta.Index >= index, m.usable()
	var w *waiter
	if !done && failed == nil {
		w = m.waiters.add(index)
	}
	m.mu.RUnlock()
	if done {
		return nil
	}
	if failed != nil {
		return failed
	}
	select {
	case <-w.done:
		m.mu.RLock()
		defer m.mu.RUnlock()
		return m.usable()
	case <-ctx.Done():
		m.waiters.drop(w)
		return ctx.Err()
	}
}

// Durable returns the index and term up to which the store includes all entries: a restart needs the
// entries after that.
func (m *Machine) Durable() (index, term uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.durable.index, m.durable.term
}

// Clock returns the cluster time, in Unix milliseconds: the highest stamp applied.
func (m *Machine) Clock() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.keys.Meta.Clock
}

// Keys returns how many keys all namespaces have: sessions, and Redis's values of other types.
func (m *Machine) Keys() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.keys.Count()
}

// NextDue returns the cluster time at which the next session expires, or at which a session must be
// examined again; 0 if there is none.
func (m *Machine) NextDue() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.keys.NextDue()
}

// ClusterID returns the id that the first Epoch brought, empty before.
func (m *Machine) ClusterID() string { return m.standing.Load().clusterID }

// Members returns the recorded members, ordered by ID. The caller must not
// change the slice.
func (m *Machine) Members() []codec.Member { return m.standing.Load().members }

// StoredMembers returns the members that the state in dir records, ordered by ID: those of
// the last flush. It changes nothing, and there must be no Machine on dir. Damage to the
// state is an error for which IsDamage holds.
func StoredMembers(dir string) ([]codec.Member, error) { return store.Members(dir) }
