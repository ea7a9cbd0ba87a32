package fsm

import (
	"cmp"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// tombstoneWalk lists what is remembered of sessions deleted under a key, the one deleted
// last first, up to a number of messages whose ids are remembered.
type tombstoneWalk struct {
	now   int64
	key   string
	limit uint64
	left  uint64 // of limit, for the source that is walked through
	found []grave
}

// weight is what a tombstone counts of the limit: its messages, each with an id at most. To
// look at it costs something however few they are.
func (g grave) weight() uint64 {
	const least = turn.GraveMessages / turn.DeletedSessions
	return max(least, min(g.last-g.moves.total, turn.IDWindow))
}

// add takes a grave in, and reports whether more may follow it from the same source.
func (w *tombstoneWalk) add(g grave) bool {
	if g.deadline <= w.now {
		return false // those before it were deleted earlier
	}
	w.found = append(w.found, g)
	w.left -= min(w.left, g.weight())
	return w.left > 0
}

// graves returns what is remembered of sessions deleted under key, the one deleted last
// first. From turn.Level1 on it is no more than turn.GraveMessages messages of each key,
// and turn.DeletedSessions sessions.
func (m *Machine) graves(key string) ([]grave, error) {
	limit := uint64(turn.GraveMessages)
	if m.level() < turn.Level1 {
		limit = ^uint64(0)
	}
	return m.latestGraves(key, limit)
}

func (m *Machine) latestGraves(key string, limit uint64) ([]grave, error) {
	if m.meta.graveMax <= m.meta.clock {
		return nil, nil
	}
	w := &tombstoneWalk{now: m.meta.clock, key: key, limit: limit, left: limit}
	if err := m.storedTombstones(w); err != nil {
		return nil, err
	}
	for _, t := range m.tables() {
		w.left = limit
		t.graves.Descend(graveKey(key, ^uint64(0)), func(k string, g grave) bool {
			if graveOf(k, key) {
				return w.add(g)
			}
			return len(k) > len(key) && k[:len(key)+1] == key+"\x00"
		})
	}
	slices.SortFunc(w.found, func(a, b grave) int { return cmp.Compare(b.inc, a.inc) })
	w.found = slices.CompactFunc(w.found, func(a, b grave) bool { return a.inc == b.inc })
	w.left = limit
	for i, g := range w.found {
		if w.left -= min(w.left, g.weight()); w.left == 0 {
			return w.found[:i+1], nil
		}
	}
	return w.found, nil
}

// storedTombstones adds those of the store.
func (m *Machine) storedTombstones(w *tombstoneWalk) error {
	tx, err := m.storeTx()
	if err != nil {
		return err
	}
	prefix := w.key + "\x00"
	c := tx.Bucket(bucketGraves).Cursor()
	for k, v := lastUpTo(c, []byte(graveKey(w.key, ^uint64(0)))); k != nil && len(k) >= len(prefix) && string(k[:len(prefix)]) == prefix; k, v = c.Prev() {
		if !graveOf(string(k), w.key) {
			continue
		}
		g, err := decodeGrave(k, v)
		if err != nil {
			return err
		}
		if !w.add(g) {
			break
		}
	}
	return nil
}

// latestGrave returns the time until which ids of deleted sessions of key count.
func (m *Machine) latestGrave(key string) (int64, error) {
	graves, err := m.latestGraves(key, 1)
	if len(graves) == 0 {
		return 0, err
	}
	return graves[0].deadline, err
}

// prints is a set of fingerprints of ids.
type prints struct {
	all  map[uint32]bool
	bits [1 << 10]uint64 // whether one of a kind is in all, so that most need no look-up
}

func (p *prints) add(print uint32) {
	p.all[print] = true
	p.bits[print>>6&(1<<10-1)] |= 1 << (print & 63)
}

func (p *prints) has(print uint32) bool {
	return p.bits[print>>6&(1<<10-1)]&(1<<(print&63)) != 0 && p.all[print]
}

// deletedOrigins are the messages of deleted sessions that may have carried some ids, by
// fingerprint, the latest first. They are looked for once for all ids of an append.
type deletedOrigins map[uint32][]origin

func (m *Machine) deletedOrigins(key string, ms []turn.NewMessage) (deletedOrigins, error) {
	graves, err := m.graves(key)
	if len(graves) == 0 || err != nil {
		return nil, err
	}
	wanted := &prints{all: make(map[uint32]bool, len(ms))}
	for i := range ms {
		if ms[i].ID != "" {
			wanted.add(m.windows.print(ms[i].ID))
		}
	}
	found := make(deletedOrigins)
	for _, g := range graves {
		w := m.windows.get(g.inc)
		if w == nil {
			if w, err = m.rebuildWindow(g.remembered()); err != nil {
				return nil, err
			}
		}
		w.among(wanted, func(ordinal uint64, print uint32) {
			found[print] = append(found[print], origin{g.inc, g.moves.seq(ordinal)})
		})
	}
	return found, nil
}

// lookupDeleted finds the message that carried id among those found.
func (m *Machine) lookupDeleted(found deletedOrigins, id string) (rec record, inc uint64, err error) {
	for _, at := range found[m.windows.print(id)] {
		v, err := m.wholeIDs(at.inc)
		if err != nil {
			return record{}, 0, err
		}
		if rec, ok, err := v.find(at.seq); ok && rec.id == id || err != nil {
			return rec, at.inc, err
		}
	}
	return record{}, 0, nil
}
