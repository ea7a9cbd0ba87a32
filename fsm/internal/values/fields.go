package values

import (
	"bytes"
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (v ops) setFields(o *turn.SetFields, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.value(key, o.Type)
	if err != nil {
		return err
	}
	before := h != nil
	if h, err = v.ownValue(key, h, o.Type); err != nil {
		return err
	}
	e, err := v.Elements(h)
	if err != nil {
		return err
	}
	changed := !before
	for _, f := range o.Fields {
		old, had, err := e.Get(f.Name)
		if err != nil {
			return err
		}
		if !had {
			r.Number++
		}
		if had && (o.OnlyNew || o.Type == turn.TypeSet) {
			continue
		}
		v.put(h, f.Name, bytes.Clone(f.Value), old, had)
		changed = true
	}
	if !changed {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	v.settle(key, h, before, r)
	return nil
}

func (v ops) removeFields(o *turn.RemoveFields, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.value(key, o.Type)
	if h == nil || err != nil {
		return err
	}
	h = v.Own(key, h)
	e, err := v.Elements(h)
	if err != nil {
		return err
	}
	for _, name := range o.Names {
		had, err := v.takeNamed(h, &e, name)
		if err != nil {
			return err
		}
		if had {
			r.Removed++
		}
	}
	if r.Removed == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	v.settle(key, h, true, r)
	return nil
}

// takeNamed removes a field or member from an owned head.
func (v ops) takeNamed(h *memtable.Head, e *memtable.Elements, name string) (had bool, err error) {
	if h.Type == turn.TypeZSet {
		return v.takeMember(h, e, name)
	}
	old, had, err := e.Get(name)
	if had {
		v.take(h, name, old)
	}
	return had, err
}

func (v ops) addToField(o *turn.AddToField, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.value(key, turn.TypeHash)
	if err != nil {
		return err
	}
	before, had := h != nil, false
	var old []byte
	if before {
		e, err := v.Elements(h)
		if err != nil {
			return err
		}
		if old, had, err = e.Get(o.Name); err != nil {
			return err
		}
	}
	if r.Number, err = addInt(old, had, o.Delta, "hash value is not an integer"); err != nil {
		return err
	}
	if h, err = v.ownValue(key, h, turn.TypeHash); err != nil {
		return err
	}
	v.put(h, o.Name, formatInt(r.Number), old, had)
	v.settle(key, h, before, r)
	return nil
}

// fields answers with the elements that q names.
func fields(q *turn.Fields, e *memtable.Elements, b Bounds, r *turn.Result) error {
	r.Elements = make([]turn.Element, len(q.Names))
	left, limit := b, b.Payload
	for i, name := range q.Names {
		el := &r.Elements[i]
		ok, err := false, error(nil)
		if q.Type == turn.TypeZSet {
			el.Score, ok, err = scoreOf(e, name)
		} else {
			el.Value, ok, err = e.Get(name)
		}
		if err != nil {
			return err
		}
		el.Name, el.Missing = name, !ok
		left.Payload -= len(el.Value)
		if left.Size -= turn.ItemBytes + len(name) + len(el.Value); left.Size < 0 {
			limit = b.Size
		}
		if left.Payload < 0 || left.Size < 0 {
			return turn.Errorf(turn.TooLarge,
				"the fields have more than the %d bytes that one answer may have; ask for fewer", limit)
		}
	}
	return nil
}

// allFields answers with a page of elements, of limit bytes about.
func allFields(q *turn.AllFields, e *memtable.Elements, limit int, r *turn.Result) error {
	p := page{limit: q.Limit, bytes: limit}
	prefix := ""
	if q.Type == turn.TypeZSet {
		prefix = byMember
	}
	err := e.Ascend(prefix+q.Cursor, func(name string, value []byte) bool {
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		el := turn.Element{Name: name[len(prefix):], Value: value}
		if !p.take(len(name) + len(value)) {
			// The least name above the last one returned.
			r.Cursor = r.Elements[len(r.Elements)-1].Name + "\x00"
			return false
		}
		if q.Type == turn.TypeZSet {
			el.Score, el.Value = decodeScore(value), nil
		}
		r.Elements = append(r.Elements, el)
		return true
	})
	if err == nil && q.Cursor == "" && r.Cursor == "" && uint64(len(r.Elements)) != r.Count {
		err = layout.HeadCountsMore(e.Inc)
	}
	return err
}

// page bounds an answer: it takes things until there are enough of them or of
// their bytes, but one at least.
type page struct {
	limit int // 0: none
	bytes int
	n     int
}

func (p *page) take(size int) bool {
	p.bytes -= size + memtable.ElementCost
	if p.n > 0 && p.bytes < 0 || p.limit > 0 && p.n == p.limit {
		return false
	}
	p.n++
	return true
}
