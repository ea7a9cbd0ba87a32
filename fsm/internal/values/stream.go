package values

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// encodeEntry returns the stored form of an entry: uvarint number of pairs, then
// for each its name and value, as strings.
func encodeEntry(fields []turn.Field) []byte {
	b := binary.AppendUvarint(nil, uint64(len(fields)))
	for _, f := range fields {
		b = layout.AppendString(b, f.Name)
		b = append(binary.AppendUvarint(b, uint64(len(f.Value))), f.Value...)
	}
	return b
}

func decodeEntry(name string, value []byte) (turn.Entry, error) {
	if len(name) != layout.EntryIDSize {
		return turn.Entry{}, turn.Errorf(turn.Corrupt, "stored stream entry has a name of %d bytes", len(name))
	}
	r := layout.NewReader(value)
	e := turn.Entry{ID: layout.SplitEntryName(name)}
	for range r.Count() {
		e.Fields = append(e.Fields, turn.Field{Name: r.Text(), Value: r.Bytes()})
	}
	return e, r.End("stream entry")
}

func (v ops) addEntry(o *turn.AddEntry, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.value(key, turn.TypeStream)
	if err != nil || h == nil && o.OnlyExisting {
		return err
	}
	before := h != nil
	last := turn.EntryID{}
	if before {
		last = h.Entry
	}
	id, err := nextEntryID(o, last, v.Now())
	if err != nil {
		return err
	}
	if h, err = v.ownValue(key, h, turn.TypeStream); err != nil {
		return err
	}
	v.put(h, layout.EntryName(id), encodeEntry(o.Fields), nil, false)
	h.Entry = id
	h.Last++
	if r.Removed, err = v.trimStream(h, &o.Trim); err != nil {
		return err
	}
	r.ID, r.Found = id, true
	v.settle(key, h, before, r)
	return nil
}

// nextEntryID decides on the id of a new entry, by Redis's rules and with its
// words, given the highest id before it.
func nextEntryID(o *turn.AddEntry, last turn.EntryID, clock int64) (turn.EntryID, error) {
	next, ok := last.Next()
	if !ok {
		return next, turn.Errorf(turn.Invalid,
			"The stream has exhausted the last possible ID, unable to add more items")
	}
	id := o.ID
	switch o.Make {
	case turn.IDMade:
		if id = (turn.EntryID{Time: uint64(clock)}); id.Compare(next) < 0 {
			id = next
		}
		return id, nil
	case turn.IDSeqMade:
		if id.Seq = 0; id.Time == next.Time {
			id.Seq = next.Seq
		}
	}
	if id.Compare(next) < 0 {
		return id, turn.Errorf(turn.Invalid,
			"The ID specified in XADD is equal or smaller than the target stream top item")
	}
	return id, nil
}

func (v ops) trimEntries(o *turn.TrimEntries, r *turn.Result) error {
	return v.reduceStream(o.Key, r, func(h *memtable.Head) (uint64, error) { return v.trimStream(h, &o.Trim) })
}

func (v ops) removeEntries(o *turn.RemoveEntries, r *turn.Result) error {
	return v.reduceStream(o.Key, r, func(h *memtable.Head) (uint64, error) {
		e, err := v.Elements(h)
		if err != nil {
			return 0, err
		}
		names := make([]string, len(o.IDs))
		for i, id := range o.IDs {
			names[i] = layout.EntryName(id)
		}
		return v.takeEntries(h, &e, names)
	})
}

// reduceStream has fn remove entries of a stream, if there is one.
func (v ops) reduceStream(k turn.Key, r *turn.Result, fn func(*memtable.Head) (uint64, error)) error {
	key := layout.JoinKey(k)
	h, err := v.value(key, turn.TypeStream)
	if h == nil || err != nil {
		return err
	}
	h = v.Own(key, h)
	if r.Removed, err = fn(h); err != nil {
		return err
	}
	if r.Removed == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	v.settle(key, h, true, r)
	return nil
}

// entries answers with a range of entries.
func entries(q *turn.Entries, e *memtable.Elements, b Bounds, r *turn.Result) error {
	p := page{limit: q.Limit, bytes: b.Payload}
	size := page{bytes: b.Size}
	low, high := layout.EntryName(q.Min), layout.EntryName(q.Max)
	var bad error
	each := func(name string, value []byte) bool {
		if name < low || name > high {
			return false
		}
		n, _ := binary.Uvarint(value) // of fields
		counted := len(value) + turn.FieldBytes*int(min(n, uint64(len(value))))
		if r.More = !p.take(len(name)+len(value)) || !size.take(counted); r.More {
			return false
		}
		var entry turn.Entry
		if entry, bad = decodeEntry(name, value); bad != nil {
			return false
		}
		r.Entries = append(r.Entries, entry)
		return true
	}
	var err error
	if q.Reverse {
		err = e.Descend(high+"\x00", each)
	} else {
		err = e.Ascend(low, each)
	}
	all := q.Min == (turn.EntryID{}) && q.Max == turn.MaxEntryID() && !r.More
	switch {
	case err != nil:
		return err
	case bad == nil && all && uint64(len(r.Entries)) != r.Count:
		return layout.HeadCountsMore(e.Inc)
	}
	return bad
}
