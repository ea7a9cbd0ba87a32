package fsm

import (
	"maps"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) delete(o *turn.Delete, r *turn.Result) error {
	for _, k := range o.Keys {
		key := joinKey(k)
		h, err := m.find(key)
		if err != nil {
			return err
		}
		if err := checkExpect(o.Expect, h); err != nil {
			return err
		}
		if h == nil {
			continue
		}
		if !o.List || h.held() {
			r.Removed++
		}
		m.remove(key, h)
	}
	r.Revision = m.meta.revision
	return nil
}

// remove deletes a key. A session's ids are remembered for a while if it had any.
func (m *Machine) remove(key string, h *head) {
	m.count(key, h.held(), false)
	m.active.setHead(key, nil)
	w := m.active.tail(h.inc)
	w.gone = true
	if h.typ == turn.TypeList {
		w.last, w.cut = h.last, h.last+1
	}
	if h.lastID > 0 && h.lastID >= windowStart(h.last) {
		g := grave{inc: h.inc, last: h.last, deadline: m.meta.clock + turn.GraveTime}
		m.active.bury(key, g)
		m.meta.graveMax = max(m.meta.graveMax, g.deadline)
	}
	m.meta.revision++
	m.watches.notify(key)
}

// graves returns what is remembered of sessions deleted under key, the one
// deleted last first.
func (m *Machine) graves(key string) ([]grave, error) {
	if m.meta.graveMax <= m.meta.clock {
		return nil, nil
	}
	found := make(map[uint64]grave)
	tx, err := m.storeTx()
	if err != nil {
		return nil, err
	}
	prefix := key + "\x00"
	c := tx.Bucket(bucketGraves).Cursor()
	for k, v := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); k, v = c.Next() {
		if !graveOf(string(k), key) {
			continue
		}
		g, err := decodeGrave(k, v)
		if err != nil {
			return nil, err
		}
		found[g.inc] = g
	}
	for _, t := range m.tables() {
		t.graves.Ascend(prefix, func(k string, g grave) bool {
			if graveOf(k, key) {
				found[g.inc] = g
			}
			return strings.HasPrefix(k, prefix)
		})
	}
	var out []grave
	for _, inc := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		if g := found[inc]; g.deadline > m.meta.clock {
			out = append(out, g)
		}
	}
	return out, nil
}

// latestGrave returns the time until which ids of deleted sessions of key count.
func (m *Machine) latestGrave(key string) (int64, error) {
	graves, err := m.graves(key)
	latest := int64(0)
	for _, g := range graves {
		latest = max(latest, g.deadline)
	}
	return latest, err
}

// setDeadline changes the deadline of an owned head; 0 removes it.
func (m *Machine) setDeadline(key string, h *head, deadline, slide int64) {
	h.deadline, h.slide = deadline, slide
	if deadline != 0 && (h.armed == 0 || deadline < h.armed) {
		m.arm(key, h)
	}
}

func (m *Machine) arm(key string, h *head) {
	h.armed = h.deadline
	m.active.arm(h.deadline, key)
	if m.nextDue == 0 || h.deadline < m.nextDue {
		m.nextDue = h.deadline
	}
}

// expireDue deals with up to limit entries of the due index whose time has come.
func (m *Machine) expireDue(limit int) error {
	for ; limit > 0 && m.nextDue != 0 && m.nextDue <= m.meta.clock; limit-- {
		entry, err := m.firstDueKey()
		if err != nil {
			return err
		}
		m.meta.dueFloor = entry
		deadline, key := splitDueKey(entry)
		h, err := m.stored(key)
		if err != nil {
			return err
		}
		// An entry that is not the one under which the session is armed is left
		// over from a sooner or former deadline.
		if h != nil && h.armed == deadline {
			m.fallDue(key, h)
		}
		if m.nextDue, err = m.firstDue(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) fallDue(key string, h *head) {
	if h.expired(m.meta.clock) {
		m.remove(key, h)
		return
	}
	h = m.own(key, h)
	h.armed = 0
	if h.deadline != 0 {
		m.arm(key, h)
	}
}

// firstDue returns the earliest deadline in the due index, 0 if it is empty.
func (m *Machine) firstDue() (int64, error) {
	key, err := m.firstDueKey()
	if key == "" || err != nil {
		return 0, err
	}
	deadline, _ := splitDueKey(key)
	return deadline, nil
}

func (m *Machine) firstDueKey() (first string, err error) {
	tx, err := m.storeTx()
	if err != nil {
		return "", err
	}
	floor := m.meta.dueFloor
	c := tx.Bucket(bucketDue).Cursor()
	k, _ := c.Seek([]byte(floor))
	if k != nil && string(k) == floor {
		k, _ = c.Next()
	}
	first = string(k)
	for _, t := range m.tables() {
		t.due.Ascend(floor, func(k string) bool {
			if k == floor {
				return true
			}
			if first == "" || k < first {
				first = k
			}
			return false
		})
	}
	return first, nil
}

func (m *Machine) expire(o *turn.Expire, r *turn.Result) error {
	key := joinKey(o.Key)
	h, err := m.find(key)
	if err != nil {
		return err
	}
	if o.Slide {
		if err := checkType(h, turn.TypeList); err != nil {
			return err
		}
	}
	if err := checkExpect(o.Expect, h); err != nil {
		return err
	}
	if h == nil || (o.List && !h.held()) {
		return nil
	}
	r.Revision = h.revision
	deadline := o.At
	if o.HasTTL {
		deadline = m.meta.clock + o.TTL
	}
	removes := !o.HasTTL && !o.HasAt
	if removes && h.deadline == 0 || !allows(o.If, h.deadline, deadline) {
		return nil
	}
	r.Removed = 1
	if !removes && deadline <= m.meta.clock {
		m.remove(key, h)
		r.Revision = m.meta.revision
		return nil
	}
	h = m.own(key, h)
	switch {
	case removes:
		m.setDeadline(key, h, 0, 0)
	case o.Slide:
		m.setDeadline(key, h, deadline, o.TTL)
	default:
		m.setDeadline(key, h, deadline, 0)
	}
	m.changed(key, h)
	r.Revision = h.revision
	return nil
}

// allows holds a new deadline against the condition and the current one, of
// which 0, none, counts as infinitely late.
func allows(cond turn.ExpireIf, current, deadline int64) bool {
	switch cond {
	case turn.IfNone:
		return current == 0
	case turn.IfSome:
		return current != 0
	case turn.IfLater:
		return current != 0 && deadline > current
	case turn.IfSooner:
		return current == 0 || deadline < current
	case turn.IfSomeSooner:
		return current != 0 && deadline < current
	}
	return true
}

func (m *Machine) setMeta(o *turn.SetMeta, r *turn.Result) error {
	key := joinKey(o.Key)
	h, err := m.session(key)
	if err != nil {
		return err
	}
	if err := checkExpect(o.Expect, h); err != nil {
		return err
	}
	merged := make(map[string]string)
	if h != nil {
		maps.Copy(merged, h.meta)
	}
	maps.Copy(merged, o.Set)
	for _, k := range o.Unset {
		delete(merged, k)
	}
	size := 0
	for k, v := range merged {
		size += len(k) + len(v)
	}
	// The same on every node, whatever its configuration: not Config's limit.
	if limit := turn.DefaultLimits().MetaBytes; size > limit {
		return turn.Errorf(turn.TooLarge, "the session's metadata would have %d bytes, the limit is %d", size, limit)
	}
	if h == nil {
		if h, err = m.create(key); err != nil {
			return err
		}
	}
	h = m.own(key, h)
	h.meta = merged
	m.active.bytes += size
	m.changed(key, h)
	r.Revision = h.revision
	return nil
}

func (m *Machine) fork(o *turn.Fork, r *turn.Result) error {
	from, to := joinKey(o.Key), joinKey(o.To)
	src, err := m.session(from)
	if err != nil {
		return err
	}
	if err := checkExpect(o.Expect, src); err != nil {
		return err
	}
	if src == nil {
		return turn.Errorf(turn.NotFound, "the session to fork does not exist")
	}
	if there, err := m.find(to); err != nil {
		return err
	} else if there != nil {
		return turn.Errorf(turn.Exists, "the session to fork to exists")
	}
	at := o.At
	if at == 0 {
		at = src.last
	}
	if at > src.last {
		return turn.Errorf(turn.NotFound, "the session ends at message %d, before %d", src.last, at)
	}
	rs, err := m.forked(src, at)
	if err != nil {
		return err
	}
	h, err := m.create(to)
	if err != nil {
		return err
	}
	h.last, h.meta, h.low = at, src.meta, [2]uint64{1, 1}
	for _, rec := range rs {
		if rec.borrowed {
			rec.data, rec.borrowed = append([]byte(nil), rec.data...), false
		}
		m.active.add(h.inc, rec)
		h.live[rec.side]++
		h.bytes += uint64(len(rec.data))
		if rec.id != "" {
			h.lastID = rec.seq
		}
	}
	if len(rs) > 0 {
		h.first = rs[0].seq
	}
	m.count(to, false, h.held())
	m.changed(to, h)
	r.First, r.Last, r.Count, r.Revision = h.first, h.last, h.count(), h.revision
	return nil
}

// forked returns the live messages of src with seq ≤ at.
func (m *Machine) forked(src *head, at uint64) (rs []record, err error) {
	v, err := m.view(src)
	if err != nil {
		return nil, err
	}
	limits, size := turn.DefaultLimits(), 0 // the same on every node
	fits := true
	err = v.oldest(anySide, 0, func(r *record) bool {
		if r.seq > at {
			return false
		}
		size += len(r.data)
		fits = len(rs) < limits.ForkMessages && size <= limits.ForkBytes
		rs = append(rs, *r)
		return fits
	})
	if err == nil && !fits {
		err = turn.Errorf(turn.TooLarge, "a fork copies at most %d messages and %d bytes", limits.ForkMessages, limits.ForkBytes)
	}
	return rs, err
}
