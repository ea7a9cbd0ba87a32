package messageids

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// TombstoneWeight is what a tombstone counts of the limit: its messages, each with an id at most. To
// look at it costs something however few they are.
func TombstoneWeight(g *layout.Tombstone) uint64 {
	const least = turn.TombstoneMessages / turn.DeletedSessions
	return max(least, min(g.Last-g.Moves.Total, turn.IDWindow))
}

// Tombstones returns what is remembered of sessions deleted under key, the one deleted last
// first: no more than turn.TombstoneMessages messages, and turn.DeletedSessions sessions.
func (x *IDs) Tombstones(key string) ([]layout.Tombstone, error) {
	return x.latestTombstones(key, turn.TombstoneMessages)
}

// latestTombstones returns those up to a number of messages whose ids are remembered.
func (x *IDs) latestTombstones(key string, left uint64) (found []layout.Tombstone, err error) {
	if x.keys.Meta.TombstonesUntil <= x.keys.Meta.Clock {
		return nil, nil
	}
	tx, err := x.keys.Reading()
	if err != nil {
		return nil, err
	}
	w := x.keys.Tables.TombstonesOf(tx, key, x.keys.Meta.LastInc)
	for left > 0 && w.Next() {
		g, err := w.Tombstone()
		if err != nil {
			return nil, err
		}
		if g.Deadline <= x.keys.Meta.Clock {
			return found, nil // those before it were deleted earlier
		}
		found = append(found, g)
		left -= min(left, TombstoneWeight(&g))
	}
	return found, w.Err
}

// Tombstone returns what is remembered of an incarnation of a key that was deleted.
func (x *IDs) Tombstone(key string, inc uint64) (g layout.Tombstone, ok bool, err error) {
	tx, err := x.keys.Reading()
	if err != nil {
		return g, false, err
	}
	w := x.keys.Tables.TombstonesOf(tx, key, inc)
	if !w.Next() {
		return g, false, w.Err
	}
	if g, err = w.Tombstone(); err != nil {
		return g, false, err
	}
	return g, g.Inc == inc, nil
}

// DeletedUntil returns the time until which ids of deleted sessions of key count.
func (x *IDs) DeletedUntil(key string) (int64, error) {
	tombstones, err := x.latestTombstones(key, 1)
	if len(tombstones) == 0 {
		return 0, err
	}
	return tombstones[0].Deadline, err
}

// deletedOrigins are the messages of deleted sessions that may have carried some ids, by
// fingerprint, the latest first. They are looked for once for all ids of an append.
type deletedOrigins map[uint32][]layout.Place

func (x *IDs) deletedOrigins(tombstones []layout.Tombstone, ms []turn.NewMessage) (_ deletedOrigins, err error) {
	if len(tombstones) == 0 {
		return nil, nil
	}
	wanted := idwindow.NewPrints(len(ms))
	for i := range ms {
		if ms[i].ID != "" {
			wanted.Add(x.Windows.Print(ms[i].ID))
		}
	}
	found := make(deletedOrigins)
	for _, g := range tombstones {
		w := x.Windows.Get(g.Inc)
		if w == nil {
			if w, err = x.rebuildWindow(g.Remembered()); err != nil {
				return nil, err
			}
		}
		w.Among(wanted, func(ordinal uint64, print uint32) {
			found[print] = append(found[print], layout.Place{Inc: g.Inc, Seq: g.Moves.Seq(ordinal)})
		})
	}
	return found, nil
}

// lookupDeleted finds the message that carried id among those found.
func (x *IDs) lookupDeleted(found deletedOrigins, id string) (rec layout.Record, inc uint64, err error) {
	for _, at := range found[x.Windows.Print(id)] {
		v, err := x.wholeIDs(at.Inc)
		if err != nil {
			return layout.Record{}, 0, err
		}
		if rec, ok, err := v.Find(at.Seq); ok && rec.ID == id || err != nil {
			return rec, at.Inc, err
		}
	}
	return layout.Record{}, 0, nil
}

// firstDeleted finds the message that carried id first among those found, in incarnations before one.
func (x *IDs) firstDeleted(
	found deletedOrigins, id string, before uint64,
) (rec layout.Record, at layout.Place, ok bool, err error) {
	for _, at := range slices.Backward(found[x.Windows.Print(id)]) {
		if at.Inc >= before {
			continue
		}
		v, err := x.wholeIDs(at.Inc)
		if err != nil {
			return rec, at, false, err
		}
		if rec, ok, err := v.Find(at.Seq); ok && rec.ID == id || err != nil {
			return rec, at, ok, err
		}
	}
	return rec, at, false, nil
}
