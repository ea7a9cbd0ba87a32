package values

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// A sorted set has two elements for each member: one by name, whose value is the
// score, and one in the order of scores. Only the first is counted.
const (
	byMember  = "m"
	byScore   = "s"
	pastScore = "t"
	scoreSize = 8
)

func memberName(member string) string { return byMember + member }

// scoreName orders by score, then member.
func scoreName(score float64, member string) string {
	b := make([]byte, 0, 1+scoreSize+len(member))
	b = append(b, byScore...)
	b = append(b, encodeScore(score)...)
	return string(append(b, member...))
}

func splitScoreName(name string) (score float64, member string) {
	name = name[len(byScore):]
	return decodeScore([]byte(name[:scoreSize])), name[scoreSize:]
}

// encodeScore returns a form whose byte order is the order of scores.
func encodeScore(score float64) []byte {
	return binary.BigEndian.AppendUint64(nil, scoreBits(score))
}

func scoreBits(score float64) uint64 {
	bits := math.Float64bits(score)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

func decodeScore(b []byte) float64 {
	bits := binary.BigEndian.Uint64(b)
	if bits>>63 != 0 {
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

// scoreOf looks a member up.
func scoreOf(e *memtable.Elements, member string) (score float64, ok bool, err error) {
	v, ok, err := e.Get(memberName(member))
	if !ok || err != nil {
		return 0, false, err
	}
	if len(v) != scoreSize {
		return 0, false, turn.Errorf(turn.Corrupt, "stored score has %d bytes", len(v))
	}
	return decodeScore(v), true, nil
}

func (v ops) setScores(o *turn.SetScores, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := v.value(key, turn.TypeZSet)
	if err != nil || h == nil && o.OnlyExisting {
		return err
	}
	before := h != nil
	if h, err = v.ownValue(key, h, turn.TypeZSet); err != nil {
		return err
	}
	e, err := v.Elements(h)
	if err != nil {
		return err
	}
	changed := false
	for i := range o.Members {
		did, err := v.setScore(h, &e, o, o.Members[i], r)
		if err != nil {
			return err
		}
		changed = changed || did
	}
	if !changed {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	v.settle(key, h, before, r)
	return nil
}

// setScore does what o asks for one member of an owned head.
func (v ops) setScore(h *memtable.Head, e *memtable.Elements, o *turn.SetScores, s turn.Score,
	r *turn.Result) (changed bool, err error) {
	old, had, err := scoreOf(e, s.Member)
	if err != nil || had && o.OnlyNew || !had && o.OnlyExisting {
		return false, err
	}
	score := s.Score + 0 // no negative zero
	if o.Increment && had {
		if score += old; math.IsNaN(score) {
			return false, turn.Errorf(turn.Invalid, "resulting score is not a number (NaN)")
		}
	}
	if had && (o.OnlyGreater && score <= old || o.OnlyLess && score >= old) {
		return false, nil
	}
	if o.Increment {
		r.Score, r.Found = score, true
	}
	if had && score == old {
		return false, nil
	}
	if !had || o.Changed {
		r.Number++
	}
	var was []byte
	if had {
		was = encodeScore(old)
		v.DeleteElement(h, scoreName(old, s.Member))
	}
	v.put(h, memberName(s.Member), encodeScore(score), was, had)
	v.PutElement(h, scoreName(score, s.Member), nil)
	return true, nil
}

// takeMember removes a member from an owned head.
func (v ops) takeMember(h *memtable.Head, e *memtable.Elements, member string) (had bool, err error) {
	score, had, err := scoreOf(e, member)
	if had {
		v.takeScored(h, member, score)
	}
	return had, err
}

// takeScored is takeMember for a member that is there, with its score.
func (v ops) takeScored(h *memtable.Head, member string, score float64) {
	v.take(h, memberName(member), encodeScore(score))
	v.DeleteElement(h, scoreName(score, member))
}

// scores answers with a range of members, of limit bytes at most.
func scores(q *turn.Scores, e *memtable.Elements, limit int, r *turn.Result) error {
	var err error
	size, fits := 0, true
	take := func(el turn.Element) bool {
		size += len(el.Name) + memtable.ElementCost
		if fits = size <= limit; fits {
			r.Elements = append(r.Elements, el)
		}
		return fits
	}
	switch q.By {
	case turn.ByRank:
		err = scoresByRank(q, e, r.Count, take, r)
	case turn.ByScore:
		err = scoresByScore(q, e, paged(q, take))
	case turn.ByName:
		err = scoresByName(q, e, paged(q, take))
	}
	if err == nil && !fits {
		err = RangeTooLong(limit)
	}
	return err
}

// paged passes over q.Offset members and ends after q.Limit.
func paged(q *turn.Scores, take func(turn.Element) bool) func(turn.Element) bool {
	skip, left := q.Offset, q.Limit
	return func(el turn.Element) bool {
		if skip > 0 {
			skip--
			return true
		}
		left--
		return take(el) && left != 0
	}
}

// eachScore calls fn with members in the order of scores, from the first name at
// or, with reverse, the last one before at.
func eachScore(e *memtable.Elements, at string, reverse bool, fn func(turn.Element) bool) error {
	each := func(name string, _ []byte) bool {
		if name[0] != byScore[0] {
			return false
		}
		score, member := splitScoreName(name)
		return fn(turn.Element{Name: member, Score: score})
	}
	if reverse {
		return e.Descend(at, each)
	}
	return e.Ascend(at, each)
}

// scoresByRank walks from the nearer end.
func scoresByRank(
	q *turn.Scores, e *memtable.Elements, count uint64, take func(turn.Element) bool, r *turn.Result,
) error {
	first, n := Range(q.Start, q.Stop, count)
	if n == 0 {
		return nil
	}
	skip, after := first, count-first-n
	turned := after < skip
	if turned {
		skip = after
	}
	reverse, at := q.Reverse != turned, byScore
	if reverse {
		at = pastScore
	}
	more := true
	err := eachScore(e, at, reverse, func(el turn.Element) bool {
		if skip > 0 {
			skip--
			return true
		}
		n--
		more = take(el) && n > 0
		return more
	})
	if err == nil && more {
		err = layout.HeadCountsMore(e.Inc)
	}
	if turned {
		slices.Reverse(r.Elements)
	}
	return err
}

func scoresByScore(q *turn.Scores, e *memtable.Elements, take func(turn.Element) bool) error {
	at := byScore
	switch {
	case q.Reverse && q.Max.Open:
		at = pastScore
	case q.Reverse:
		// No score but NaN has the highest bits: the next ones do not overflow.
		at = byScore + string(binary.BigEndian.AppendUint64(nil, scoreBits(q.Max.Score+0)+1))
	case !q.Min.Open:
		at = scoreName(q.Min.Score+0, "")
	}
	return eachScore(e, at, q.Reverse, func(el turn.Element) bool {
		low := !q.Min.Open && (el.Score < q.Min.Score || q.Min.Exclusive && el.Score == q.Min.Score)
		high := !q.Max.Open && (el.Score > q.Max.Score || q.Max.Exclusive && el.Score == q.Max.Score)
		if low || high {
			// Outside, but perhaps only just: at the end where the walk began.
			return low != q.Reverse
		}
		return take(el)
	})
}

// scoresByName goes by the elements that are in the order of names: where all
// scores are equal, which is what the range is for, that is the same.
func scoresByName(q *turn.Scores, e *memtable.Elements, take func(turn.Element) bool) error {
	each := func(name string, value []byte) bool {
		if name[0] != byMember[0] || len(value) != scoreSize {
			return false
		}
		member := name[len(byMember):]
		low := !q.Min.Open && (member < q.Min.Name || q.Min.Exclusive && member == q.Min.Name)
		high := !q.Max.Open && (member > q.Max.Name || q.Max.Exclusive && member == q.Max.Name)
		if low || high {
			return low != q.Reverse
		}
		return take(turn.Element{Name: member, Score: decodeScore(value)})
	}
	switch {
	case q.Reverse && q.Max.Open:
		return e.Descend(byScore, each)
	case q.Reverse:
		return e.Descend(memberName(q.Max.Name)+"\x00", each)
	case q.Min.Open:
		return e.Ascend(byMember, each)
	}
	return e.Ascend(memberName(q.Min.Name), each)
}

func rank(q *turn.Rank, e *memtable.Elements, r *turn.Result) error {
	score, ok, err := scoreOf(e, q.Member)
	if !ok || err != nil {
		return err
	}
	at := byScore
	if q.Reverse {
		at = pastScore
	}
	r.Found, r.Score = true, score
	met := false
	err = eachScore(e, at, q.Reverse, func(el turn.Element) bool {
		if met = el.Name == q.Member; !met {
			r.Number++
		}
		return !met
	})
	if err == nil && !met {
		err = layout.HeadCountsMore(e.Inc)
	}
	return err
}
