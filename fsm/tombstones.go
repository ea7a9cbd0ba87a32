package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// tombstoneWeight is what a tombstone counts of the limit: its messages, each with an id at most. To
// look at it costs something however few they are.
func tombstoneWeight(g *layout.Tombstone) uint64 {
	const least = turn.TombstoneMessages / turn.DeletedSessions
	return max(least, min(g.Last-g.Moves.Total, turn.IDWindow))
}

// tombstones returns what is remembered of sessions deleted under key, the one deleted last
// first: no more than turn.TombstoneMessages messages, and turn.DeletedSessions sessions.
func (x *ids) tombstones(key string) ([]layout.Tombstone, error) {
	return x.latestTombstones(key, turn.TombstoneMessages)
}

// latestTombstones returns those up to a number of messages whose ids are remembered.
func (x *ids) latestTombstones(key string, left uint64) (found []layout.Tombstone, err error) {
	if x.meta.TombstonesUntil <= x.meta.Clock {
		return nil, nil
	}
	tx, err := x.storeTx()
	if err != nil {
		return nil, err
	}
	w := x.tables.TombstonesOf(tx, key, x.meta.LastInc)
	for left > 0 && w.Next() {
		g, err := w.Tombstone()
		if err != nil {
			return nil, err
		}
		if g.Deadline <= x.meta.Clock {
			return found, nil // those before it were deleted earlier
		}
		found = append(found, g)
		left -= min(left, tombstoneWeight(&g))
	}
	return found, w.Err
}

// latestTombstone returns the time until which ids of deleted sessions of key count.
func (x *ids) latestTombstone(key string) (int64, error) {
	tombstones, err := x.latestTombstones(key, 1)
	if len(tombstones) == 0 {
		return 0, err
	}
	return tombstones[0].Deadline, err
}

// deletedOrigins are the messages of deleted sessions that may have carried some ids, by
// fingerprint, the latest first. They are looked for once for all ids of an append.
type deletedOrigins map[uint32][]origin

func (x *ids) deletedOrigins(key string, ms []turn.NewMessage) (deletedOrigins, error) {
	tombstones, err := x.tombstones(key)
	if len(tombstones) == 0 || err != nil {
		return nil, err
	}
	wanted := idwindow.NewPrints(len(ms))
	for i := range ms {
		if ms[i].ID != "" {
			wanted.Add(x.windows.Print(ms[i].ID))
		}
	}
	found := make(deletedOrigins)
	for _, g := range tombstones {
		w := x.windows.Get(g.Inc)
		if w == nil {
			if w, err = x.rebuildWindow(rememberedAfter(&g)); err != nil {
				return nil, err
			}
		}
		w.Among(wanted, func(ordinal uint64, print uint32) {
			found[print] = append(found[print], origin{g.Inc, g.Moves.Seq(ordinal)})
		})
	}
	return found, nil
}

// lookupDeleted finds the message that carried id among those found.
func (x *ids) lookupDeleted(found deletedOrigins, id string) (rec layout.Record, inc uint64, err error) {
	for _, at := range found[x.windows.Print(id)] {
		v, err := x.wholeIDs(at.inc)
		if err != nil {
			return layout.Record{}, 0, err
		}
		if rec, ok, err := v.Find(at.seq); ok && rec.ID == id || err != nil {
			return rec, at.inc, err
		}
	}
	return layout.Record{}, 0, nil
}
