package fsm

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// model is the state machine done the obvious way: everything in slices, copied
// about freely. It is the judge of what the real one does.
type model struct {
	clock int64
	level turn.ClusterLevel
	// revisions of namespaces with keys; the others begin at their floor.
	revisions  map[string]uint64
	floors     map[string]uint64
	sessions   map[turn.Key]*modelSession
	tombstones []modelTombstone
	answers    map[modelTxID]modelAnswer
	marks      uint64 // given out, to messages and to sessions
	incs       uint64 // given out, to sessions
	// expects are the keys on whose revisions the transaction has a condition whose steps are tried.
	expects map[turn.Key]bool
}

type modelSession struct {
	inc      uint64 // 0: not yet given
	typ      turn.Type
	elements map[string][]byte // of hash and set; of a string the one named ""
	scores   map[string]float64
	entries  []turn.Entry
	added    uint64 // entries ever
	entry    turn.EntryID
	list     []turn.Message  // in list order
	appended []modelAppended // ever, in commit order
	// was holds, by seq, the first payload of messages that got another.
	was map[uint64][]byte
	// moved holds, by seq, the messages that were moved there, with the revision after
	// their append.
	moved    map[uint64]uint64
	last     uint64
	revision uint64
	deadline int64
	slide    int64
	meta     map[string]string
	labelled bool // lists by labels have it
	keep     turn.Retention
	turns    []uint64        // where they begin
	inside   map[uint64]bool // by seq
	open     []modelCall
	pushes   modelPushes
}

// weight is how many of its messages the bound counts: none, if no id is remembered.
func (g *modelTombstone) weight() int {
	if !g.remembered() {
		return 0
	}
	return max(turn.TombstoneMessages/turn.DeletedSessions, min(int(g.last)-len(g.moved), turn.IDWindow))
}

func (g *modelTombstone) remembered() bool {
	return g.pushes.lastID > 0 && g.pushes.lastID >= windowFrom(g.last, g.moved)
}

type modelTombstone struct {
	inc      uint64
	key      turn.Key
	appended []modelAppended
	moved    map[uint64]uint64
	last     uint64
	deadline int64
	pushes   modelPushes
	renamed  modelRenamed
}

// modelAppended is a message with the session's revision after it came; 0: not known.
type modelAppended struct {
	turn.Message
	revision uint64
	by       *modelBrought // nil: not known
	first    uint64        // of the message that had the id first in the session; 0: it is this one
	deleted  bool          // the id was known from a deleted session
}

// modelPlace is where a message came.
type modelPlace struct{ inc, seq uint64 }

func newModel() *model {
	return &model{sessions: make(map[turn.Key]*modelSession), revisions: make(map[string]uint64),
		floors: make(map[string]uint64)}
}

// now returns the revision of the last change in a key's namespace.
func (m *model) now(k turn.Key) uint64 {
	if now := m.revisions[k.Namespace]; now > 0 {
		return now
	}
	return m.floors[layout.FloorOf(k.Namespace)]
}

// next gives out the revision of a change of a key.
func (m *model) next(k turn.Key) uint64 {
	next := m.now(k) + 1
	for other, s := range m.sessions {
		if other.Namespace == k.Namespace && s.held() {
			m.revisions[k.Namespace] = next
			return next
		}
	}
	delete(m.revisions, k.Namespace)
	m.floors[layout.FloorOf(k.Namespace)] = max(m.floors[layout.FloorOf(k.Namespace)], next)
	return next
}

// windowFrom is the seq of the oldest of the last messages that were appended, and not
// moved, whose ids are remembered.
func windowFrom(last uint64, moved map[uint64]uint64) uint64 {
	for n := 0; last > 1; last-- {
		if _, ok := moved[last]; !ok {
			n++
		}
		if n == turn.IDWindow {
			break
		}
	}
	return last
}

// after is the clock in so many milliseconds.
func (m *model) after(ms int64) int64 {
	if ms > math.MaxInt64-m.clock {
		return math.MaxInt64
	}
	return m.clock + ms
}

func (m *model) advance(stamp int64) {
	m.clock = max(m.clock, stamp)
	// Revisions are given out in the order of expiry.
	for {
		var next turn.Key
		found := false
		for k, s := range m.sessions {
			if s.deadline != 0 && s.deadline <= m.clock {
				o := m.sessions[next]
				if !found || s.deadline < o.deadline ||
					s.deadline == o.deadline && layout.JoinKey(k) < layout.JoinKey(next) {
					next, found = k, true
				}
			}
		}
		if !found {
			return
		}
		m.remove(next)
	}
}

func (m *model) remove(k turn.Key) {
	s := m.sessions[k]
	m.tombstones = append(m.tombstones, modelTombstone{inc: m.inc(s), key: k, appended: s.appended, moved: s.moved,
		last: s.last, deadline: m.after(turn.TombstoneTime), pushes: s.pushes.copied()})
	delete(m.sessions, k)
	m.next(k)
}

func (m *model) changed(k turn.Key, s *modelSession) {
	s.revision, s.labelled = m.next(k), m.level >= turn.Level2
}

func (m *model) expect(e *uint64, s *modelSession) *turn.Error {
	rev := uint64(0)
	if s != nil {
		rev = s.revision
	}
	if e != nil && *e != rev {
		return &turn.Error{Kind: turn.Conflict, Revision: rev}
	}
	return nil
}

func (m *model) apply(op turn.Op) (turn.Result, *turn.Error) {
	if s := m.sessions[sessionOf(op)]; s != nil && s.typ != turn.TypeList {
		if r, ok := m.repeatedBefore(op); ok {
			return r, nil
		}
		return turn.Result{}, &turn.Error{Kind: turn.WrongType}
	}
	switch o := op.(type) {
	case *turn.Append:
		return m.append(o)
	case *turn.Pop:
		return m.pop(o)
	case *turn.Trim:
		return m.trim(o)
	case *turn.Replace:
		return m.replace(o)
	case *turn.Clear:
		s := m.sessions[o.Key]
		if err := m.expect(o.Expect, s); err != nil {
			return turn.Result{}, err
		}
		if s == nil {
			return turn.Result{}, nil
		}
		n := len(s.list)
		if n > 0 {
			s.list, s.open = nil, nil
			s.endTurns()
			m.changed(o.Key, s)
		}
		return turn.Result{Removed: uint64(n), Revision: s.revision}, nil
	case *turn.Delete:
		var r turn.Result
		for _, k := range o.Keys {
			s := m.sessions[k]
			if err := m.expect(o.Expect, s); err != nil {
				return turn.Result{}, err
			}
			if s == nil {
				continue
			}
			if !o.List || s.held() {
				r.Removed++
			}
			m.remove(k)
		}
		r.Revision = m.now(o.Keys[0])
		return r, nil
	case *turn.Expire:
		return m.expire(o)
	case *turn.Fork:
		return m.fork(o)
	case *turn.Rename:
		return m.rename(o)
	case *turn.Tx:
		if o.All {
			return m.transactAll(o)
		}
		return m.transact(o), nil
	case *turn.SetElement:
		return m.setElement(o)
	case *turn.EditMessage:
		return m.editMessage(o)
	case *turn.RemoveMessage:
		return m.removeMessage(o)
	case *turn.Retain:
		return m.retain(o)
	case *turn.InsertElement:
		return m.insertElement(o)
	case *turn.RemoveElements:
		return m.removeElements(o)
	case *turn.MoveElement:
		return m.moveElement(o)
	case *turn.PushOnce:
		return m.pushOnce(o)
	case *turn.SetMetadata:
		s := m.sessions[o.Key]
		if err := m.expect(o.Expect, s); err != nil {
			return turn.Result{}, err
		}
		if err := m.tooManyLabels(s, o.Set, o.Unset); err != nil {
			return turn.Result{}, err
		}
		if s == nil {
			s = &modelSession{typ: turn.TypeList}
			m.sessions[o.Key] = s
		}
		s.changeMeta(o.Set, o.Unset)
		m.changed(o.Key, s)
		return turn.Result{Revision: s.revision}, nil
	}
	return m.applyValue(op)
}

func (s *modelSession) changeMeta(set map[string]string, unset []string) {
	meta := make(map[string]string)
	for k, v := range s.meta {
		meta[k] = v
	}
	for k, v := range set {
		meta[k] = v
	}
	for _, k := range unset {
		delete(meta, k)
	}
	s.meta = meta
}

// sessionOf returns the key that op needs to hold a session, or nothing.
func sessionOf(op turn.Op) turn.Key {
	switch o := op.(type) {
	case *turn.Append:
		return o.Key
	case *turn.Pop:
		return o.Key
	case *turn.Trim:
		return o.Key
	case *turn.Replace:
		return o.Key
	case *turn.Clear:
		return o.Key
	case *turn.SetMetadata:
		return o.Key
	case *turn.Fork:
		return o.Key
	case *turn.EditMessage:
		return o.Key
	case *turn.RemoveMessage:
		return o.Key
	case *turn.Retain:
		return o.Key
	case *turn.SetElement:
		return o.Key
	case *turn.InsertElement:
		return o.Key
	case *turn.RemoveElements:
		return o.Key
	case *turn.MoveElement:
		return o.Key
	case *turn.PushOnce:
		return o.Key
	case *turn.Expire:
		if o.Slide {
			return o.Key
		}
	}
	return turn.Key{}
}

func (m *model) append(o *turn.Append) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if o.OnlyExisting && (s == nil || len(s.list) == 0) {
		return turn.Result{}, nil
	}
	if r, err, done := m.duplicate(o.Key, s, o.Messages); done {
		return r, err
	}
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil && o.MustExist {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	if len(o.Set)+len(o.Unset) > 0 {
		if err := m.tooManyLabels(s, o.Set, o.Unset); err != nil {
			return turn.Result{}, err
		}
	}
	return m.extend(o.Key, s, o), nil
}

func (m *model) extend(k turn.Key, s *modelSession, o *turn.Append) turn.Result {
	if s == nil {
		s = &modelSession{typ: turn.TypeList}
		m.sessions[k] = s
	}
	if len(o.Set)+len(o.Unset) > 0 {
		s.changeMeta(o.Set, o.Unset)
	}
	r := m.push(k, s, o.Messages, o.Side, false, nil)
	s.shorten()
	if o.TTL > 0 {
		s.deadline = m.after(o.TTL)
	} else if s.slide > 0 {
		s.deadline = m.after(s.slide)
	}
	m.changed(k, s)
	r.Revision, r.Count = s.revision, uint64(len(s.list))
	return r
}

func (m *model) push(
	k turn.Key, s *modelSession, ms []turn.NewMessage, side turn.Side, replaced bool, used []*modelKnown,
) turn.Result {
	r := turn.Result{First: s.last + 1}
	s.beginTurn()
	by := m.brought(ms, replaced)
	s.appended, s.list = slices.Clone(s.appended), slices.Clone(s.list)
	for i, n := range ms {
		s.last++
		msg := turn.Message{Seq: s.last, Time: m.clock, ID: n.ID, Data: n.Data}
		revision := uint64(0)
		if n.ID != "" {
			revision = m.now(k) + 1
		}
		a := modelAppended{Message: msg, revision: revision, by: by}
		if used != nil && used[i] != nil {
			if a.deleted = used[i].inc != m.inc(s); !a.deleted {
				a.first = cmp.Or(used[i].last.first, used[i].last.Seq)
			}
		}
		s.appended = append(s.appended, a)
		m.mark(s, msg)
		s.setInside(msg.Seq, s.waits(msg.Seq))
		if side == turn.Head {
			s.list = append([]turn.Message{msg}, s.list...)
		} else {
			s.list = append(s.list, msg)
		}
		s.noteCalls(msg.Seq, msg.Data, m.level)
	}
	r.Last = s.last
	return r
}

func (m *model) duplicate(key turn.Key, s *modelSession, ms []turn.NewMessage) (turn.Result, *turn.Error, bool) {
	var found []modelPlace
	then, lost := uint64(0), false
	for _, n := range ms {
		k := m.known(key, s, n.ID)
		if k == nil {
			continue
		}
		first := k.first
		if first == nil {
			first, lost = &k.last, true
		}
		if !bytes.Equal(first.Data, n.Data) {
			return turn.Result{}, &turn.Error{Kind: turn.IDReused}, true
		}
		found, then = append(found, modelPlace{k.at.inc, first.Seq}), first.revision
	}
	if len(found) == 0 {
		return turn.Result{}, nil, false
	}
	rev, count := uint64(0), uint64(0)
	if s != nil {
		rev, count = s.revision, uint64(len(s.list))
	}
	whole := len(found) == len(ms) && !lost
	for i := 1; i < len(found); i++ {
		whole = whole && found[i] == modelPlace{found[i-1].inc, found[i-1].seq + 1}
	}
	if !whole {
		return turn.Result{}, &turn.Error{Kind: turn.Conflict, Revision: rev}, true
	}
	first, last := found[0].seq, found[len(found)-1].seq
	return turn.Result{First: first, Last: last, Duplicate: true, Revision: then, Count: count}, nil, true
}

// bySeq returns the held messages in commit order.
func (s *modelSession) bySeq() []turn.Message {
	out := slices.Clone(s.list)
	slices.SortFunc(out, func(a, b turn.Message) int { return int(a.Seq) - int(b.Seq) })
	return out
}

func (s *modelSession) filter(want func(turn.Message) bool) (removed uint64) {
	var left []turn.Message
	for _, msg := range s.list {
		if want(msg) {
			left = append(left, msg)
		}
	}
	removed = uint64(len(s.list) - len(left))
	s.list = left
	return removed
}

func (m *model) pop(o *turn.Pop) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil {
		return turn.Result{}, nil
	}
	var r turn.Result
	before := s.list
	for range o.Count {
		if len(s.list) == 0 {
			break
		}
		var msg turn.Message
		switch o.From {
		case turn.Head:
			msg = s.list[0]
		case turn.Tail:
			msg = s.list[len(s.list)-1]
		case turn.Newest:
			ms := s.bySeq()
			msg = ms[len(ms)-1]
		}
		s.filter(func(x turn.Message) bool { return x.Seq != msg.Seq })
		r.Messages = append(r.Messages, msg)
		r.Removed++
	}
	s.lostEnd(before, o.From == turn.Newest)
	m.removedSome(o.Key, s, r.Removed, o.List)
	r.Count, r.Revision = uint64(len(s.list)), s.revision
	return r, nil
}

func (m *model) removedSome(k turn.Key, s *modelSession, n uint64, list bool) {
	if n == 0 {
		return
	}
	if list && len(s.list) == 0 {
		s.deadline, s.slide = 0, 0
	}
	s.endTurns()
	m.changed(k, s)
}

func (m *model) trim(o *turn.Trim) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil {
		return turn.Result{}, nil
	}
	var r turn.Result
	before := s.list
	switch o.By {
	case turn.KeepLast:
		ms := s.bySeq()
		if uint64(len(ms)) > o.N {
			first := ms[uint64(len(ms))-o.N:]
			r.Removed = s.filter(func(x turn.Message) bool { return len(first) > 0 && x.Seq >= first[0].Seq })
		}
	case turn.BeforeSeq:
		r.Removed = s.filter(func(x turn.Message) bool { return x.Seq >= o.N })
	case turn.ListRange:
		kept := modelRange(s.list, o.Start, o.Stop)
		r.Removed = uint64(len(s.list) - len(kept))
		s.list = slices.Clone(kept)
	}
	s.lostEnd(before, false)
	m.removedSome(o.Key, s, r.Removed, o.By == turn.ListRange)
	r.Count, r.Revision = uint64(len(s.list)), s.revision
	return r, nil
}

// modelRange is LRANGE by the book.
func modelRange(list []turn.Message, start, stop int64) []turn.Message {
	n := int64(len(list))
	if start < 0 {
		start += n
	}
	if stop < 0 {
		stop += n
	}
	if start < 0 {
		start = 0
	}
	if start > stop || start >= n {
		return nil
	}
	if stop >= n {
		stop = n - 1
	}
	return list[start : stop+1]
}

func (m *model) replace(o *turn.Replace) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	holds := m.expects[o.Key] || s != nil && o.Expect != nil && *o.Expect == s.revision
	r, err, done := m.replacedBefore(o, s, holds)
	if done {
		return r, err
	}
	used := m.used(o.Key, s, o.Messages)
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	before := s.list
	removed := s.filter(func(x turn.Message) bool { return x.Seq < o.From })
	s.lost(before, true, false)
	if removed > 0 || len(o.Messages) > 0 {
		s.endTurns()
		if len(o.Messages) > 0 {
			r = m.push(o.Key, s, o.Messages, turn.Tail, true, used)
			s.shorten()
		}
		if s.slide > 0 {
			s.deadline = m.after(s.slide)
		}
		m.changed(o.Key, s)
	}
	r.Removed, r.Count, r.Revision = removed, uint64(len(s.list)), s.revision
	return r, nil
}

func (m *model) expire(o *turn.Expire) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil || o.List && !s.held() {
		return turn.Result{}, nil
	}
	const never = int64(1) << 62
	r := turn.Result{Revision: s.revision}
	now, then := s.deadline, o.At
	if o.HasTTL {
		then = m.after(o.TTL)
	}
	if !o.HasTTL && !o.HasAt {
		if now == 0 {
			return r, nil
		}
		then = 0
	}
	if now == 0 {
		now = never
	}
	switch {
	case o.If == turn.IfNone && s.deadline != 0, o.If == turn.IfSome && s.deadline == 0,
		o.If == turn.IfLater && then <= now, o.If == turn.IfSooner && then >= now,
		o.If == turn.IfSomeSooner && (s.deadline == 0 || then >= now):
		return r, nil
	}
	r.Removed = 1
	if (o.HasTTL || o.HasAt) && then <= m.clock {
		m.remove(o.Key)
		r.Revision = m.now(o.Key)
		return r, nil
	}
	s.deadline, s.slide = then, 0
	if o.Slide {
		s.slide = o.TTL
	}
	m.changed(o.Key, s)
	r.Revision = s.revision
	return r, nil
}

func (m *model) fork(o *turn.Fork) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if err := m.expect(o.Expect, s); err != nil {
		return turn.Result{}, err
	}
	if s == nil {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	if m.sessions[o.To] != nil {
		return turn.Result{}, &turn.Error{Kind: turn.Exists}
	}
	at := o.At
	if at == 0 {
		at = s.last
	}
	if at > s.last {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	f := s.upTo(at)
	for i := range f.appended {
		f.appended[i].by = m.brought(nil, false)
	}
	m.sessions[o.To] = f
	m.changed(o.To, f)
	r := turn.Result{Last: at, Count: uint64(len(f.list)), Revision: f.revision}
	if len(f.appended) > 0 {
		r.First = f.appended[0].Seq
	}
	return r, nil
}

// upTo returns a copy of a session with the messages up to a seq.
func (s *modelSession) upTo(at uint64) *modelSession {
	f := &modelSession{typ: turn.TypeList, last: at, meta: s.meta,
		pushes: modelPushes{marks: maps.Clone(s.pushes.marks)}}
	for _, msg := range s.list {
		if msg.Seq <= at {
			f.list = append(f.list, msg)
		}
	}
	f.was = s.was
	for _, msg := range f.bySeq() {
		revision := s.revisionOf(msg.Seq)
		if was, edited := s.was[msg.Seq]; edited {
			msg.Data = was
		}
		f.appended = append(f.appended, modelAppended{Message: msg, revision: revision})
		if msg.ID != "" {
			f.pushes.lastID = msg.Seq
		}
	}
	f.forkCalls(s)
	return f
}

// revisionOf returns what is known of the append of a message.
func (s *modelSession) revisionOf(seq uint64) uint64 {
	if revision, ok := s.moved[seq]; ok {
		return revision
	}
	for _, a := range s.appended {
		if a.Seq == seq {
			return a.revision
		}
	}
	return 0
}

// edit gives the message at index i another payload.
func (s *modelSession) edit(i int, data []byte, level turn.ClusterLevel) {
	s.was = maps.Clone(s.was)
	if _, edited := s.was[s.list[i].Seq]; !edited {
		if s.was == nil {
			s.was = make(map[uint64][]byte)
		}
		s.was[s.list[i].Seq] = s.list[i].Data
	}
	s.list = slices.Clone(s.list)
	s.list[i].Data = data
	if s.inside[s.list[i].Seq] {
		s.reopen()
	}
	s.noteCalls(s.list[i].Seq, data, level)
}

func (m *model) setElement(o *turn.SetElement) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if s == nil || len(s.list) == 0 {
		return turn.Result{}, &turn.Error{Kind: turn.NotFound}
	}
	n := int64(len(s.list))
	i := o.Index
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return turn.Result{}, &turn.Error{Kind: turn.Invalid}
	}
	s.edit(int(i), o.Data, m.level)
	m.changed(o.Key, s)
	return turn.Result{Count: uint64(len(s.list)), Revision: s.revision}, nil
}

func (m *model) insertElement(o *turn.InsertElement) (turn.Result, *turn.Error) {
	s := m.sessions[o.Key]
	if s == nil || len(s.list) == 0 {
		return turn.Result{}, nil
	}
	i := slices.IndexFunc(s.list, func(x turn.Message) bool { return bytes.Equal(x.Data, o.Pivot) })
	if i < 0 {
		return turn.Result{Number: -1, Count: uint64(len(s.list)), Revision: s.revision}, nil
	}
	if o.After {
		i++
	}
	r := m.insert(o.Key, s, i, o.Data)
	r.Number = int64(r.Count)
	return r, nil
}

// insert puts data before an element of the list; those between it and the nearer end are
// numbered again, the one next to it first.
func (m *model) insert(k turn.Key, s *modelSession, at int, data []byte) turn.Result {
	left, right := slices.Clone(s.list[:at]), slices.Clone(s.list[at:])
	if s.was, s.moved = maps.Clone(s.was), maps.Clone(s.moved); s.moved == nil {
		s.moved = make(map[uint64]uint64)
	}
	give := func(msg *turn.Message) {
		revision := s.revisionOf(msg.Seq)
		s.last++
		s.pushes.move(msg.Seq, s.last)
		if was, edited := s.was[msg.Seq]; edited {
			s.was[s.last] = was
		}
		msg.Seq = s.last
		s.moved[s.last] = revision
	}
	fromTail := len(left) > len(right)
	lifted := right
	if !fromTail {
		lifted = slices.Clone(left)
		slices.Reverse(lifted)
	}
	s.lift(lifted, fromTail)
	one := turn.Message{Time: m.clock, Data: data}
	give(&one)
	if !fromTail {
		for i := len(left) - 1; i >= 0; i-- {
			give(&left[i])
		}
	} else {
		for i := range right {
			give(&right[i])
		}
	}
	s.list = append(append(left, one), right...)
	if len(s.open) > 0 {
		s.reopen()
	}
	s.noteCalls(one.Seq, data, m.level)
	s.shorten()
	s.endTurns()
	m.changed(k, s)
	return turn.Result{Count: uint64(len(s.list)), Revision: s.revision}
}

func (m *model) removeElements(o *turn.RemoveElements) (r turn.Result, _ *turn.Error) {
	s := m.sessions[o.Key]
	if s == nil || len(s.list) == 0 {
		return r, nil
	}
	list, n := slices.Clone(s.list), o.Count
	if n < 0 {
		slices.Reverse(list)
		n = -n
	}
	before := s.list
	list = slices.DeleteFunc(list, func(x turn.Message) bool {
		if !bytes.Equal(x.Data, o.Data) || n > 0 && int64(r.Removed) == n {
			return false
		}
		r.Removed++
		return true
	})
	if o.Count < 0 {
		slices.Reverse(list)
	}
	s.list = list
	s.lost(before, false, false)
	m.removedSome(o.Key, s, r.Removed, true)
	r.Count, r.Revision = uint64(len(s.list)), s.revision
	return r, nil
}
