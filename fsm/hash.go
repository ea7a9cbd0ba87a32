package fsm

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// stateHash is a hash over the whole state, as of the last Checksum operation.
type stateHash struct {
	wanted uint64 // index of the last entry that asked for one; 0: there will be none for it
	index  uint64
	sum    string
}

// StateHash returns the hash over the whole state that the last Checksum
// operation asked for, and the index of that operation's entry; an empty hash
// if none was taken since the start. Nodes with equal indices have equal hashes.
func (m *Machine) StateHash() (index uint64, sum string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.hash.index, m.hash.sum
}

// HashAwaited reports whether the hash that the applied entry at index asked for, or a later
// entry, is still to come. It is not if the state was replaced by another node's meanwhile.
func (m *Machine) HashAwaited(index uint64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.hash.wanted >= index
}

// takeHash has the state as of now hashed, by freezing it: what is in the store
// after that flush is exactly the state as of this entry. The caller holds mu, and gives
// it away while it waits for the flush before, which it hurries: if the state was halted
// or replaced since, no hash is taken. The transaction that reads the store ends before.
func (m *Machine) takeHash() {
	m.keys.closeTx()
	m.hurries.Add(1)
	defer m.hurries.Add(-1)
	for m.keys.tables.Frozen != nil && m.usable() == nil {
		m.kick.Notify()
		m.room.Wait()
	}
	if m.usable() != nil || m.keys.meta.Index != m.hash.wanted {
		m.hash.wanted = 0
		return
	}
	m.freeze()
	m.keys.tables.Frozen.Hash = true
	m.kick.Notify()
}

func (m *Machine) hashStore(index uint64) error {
	var sum string
	m.mu.RLock()
	tx, err := m.store.Read()
	m.mu.RUnlock()
	if err == nil {
		tx.BypassCache() // all is read once
		err = store.Guarded(func() (err error) {
			sum, err = hashState(tx)
			return err
		})
		tx.End()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("hash the state: %w", err)
		m.fail(err)
		return cmp.Or(m.usable(), err)
	}
	m.hash.index, m.hash.sum = index, sum
	return nil
}

// hashState hashes what the state means, not how it is laid out: how messages
// fall into blocks, and how long removed ones linger, differs between nodes.
func hashState(tx *store.Reading) (string, error) {
	m, _, err := tx.Meta()
	if err != nil {
		return "", err
	}
	s := hasher{h: sha256.New(), tx: tx}
	s.bytes(m.Encode())
	windows := tx.Bucket(layout.BucketMeta).Get(layout.KeyTags)
	if windows != nil { // not a new store
		if windows, err = layout.Dumped(layout.BucketMeta, layout.KeyTags, windows); err != nil {
			return "", err
		}
	}
	s.bytes(windows)
	if err := tx.Bucket(layout.BucketHeads).ForEach(func(k, v []byte) error {
		v, err := layout.Dumped(layout.BucketHeads, k, v)
		if err != nil {
			return err
		}
		s.bytes(k)
		s.bytes(v)
		h, err := memtable.DecodeHead(v)
		if err != nil {
			return err
		}
		if h.Type != turn.TypeList {
			return s.elements(memtable.StoredElements(h, tx))
		}
		v2 := memtable.StoredView(h, tx)
		return s.messages(&v2, rememberedOf(h))
	}); err != nil {
		return "", err
	}
	if err := tx.Bucket(layout.BucketTombstones).ForEach(func(k, v []byte) error {
		g, err := layout.DecodeTombstone(k, v)
		if err != nil || g.Deadline <= m.Clock {
			return err // forgotten; when it is removed is up to each node
		}
		s.bytes(k)
		s.bytes(g.Encode())
		v2 := memtable.DeletedView(&g, tx)
		return s.messages(&v2, rememberedAfter(&g))
	}); err != nil {
		return "", err
	}
	for _, b := range [][]byte{layout.BucketDue, layout.BucketNamespaces} {
		if err := tx.Bucket(b).ForEach(func(k, v []byte) error {
			v, err := layout.Dumped(b, k, v)
			s.bytes(k)
			s.bytes(v)
			return err
		}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(s.h.Sum(nil)[:16]), nil
}

type hasher struct {
	h  hash.Hash
	tx *store.Reading
}

func (s *hasher) uint(v uint64) { _, _ = s.h.Write(binary.BigEndian.AppendUint64(nil, v)) }

func (s *hasher) bytes(b []byte) {
	s.uint(uint64(len(b)))
	_, _ = s.h.Write(b)
}

func (s *hasher) elements(e *memtable.Elements) error {
	return e.Ascend("", func(name string, value []byte) bool {
		s.bytes([]byte(name))
		s.bytes(value)
		return true
	})
}

// messages hashes the live messages of a session, and of the others those whose
// ids are remembered.
func (s *hasher) messages(v *memtable.View, of remembered) error {
	start := of.windowStart()
	from := min(start, v.Floor(memtable.AnySide))
	return v.Ascend(from, func(r *layout.Record) bool {
		live := v.Live(r)
		if !live && (r.Seq < start || r.ID == "" || of.moves.Runs.Has(r.Seq)) {
			return true
		}
		rec := *r
		if !live {
			rec = rec.AsTombstone()
			rec.Time = 0
		}
		s.uint(rec.Seq)
		s.uint(uint64(rec.Time))
		s.uint(uint64(rec.Flags()))
		if rec.Revision != 0 {
			s.uint(rec.Revision)
		}
		s.bytes([]byte(rec.ID))
		s.bytes(rec.Data)
		if rec.Original != nil {
			s.bytes(rec.Original[:])
		}
		return true
	})
}
