package turn

import "math"

// Score is a member of a sorted set with its score.
type Score struct {
	Member string
	Score  float64 // not NaN; −0 is stored as 0
}

// SetScores adds members to a sorted set, or gives them other scores, one after
// another, creating the key if needed. Result: Number, how many members are new
// or, with Changed, new or changed; Count (held after it); Revision; with
// Increment, Score, the new one, and Found, unless a condition forbade it.
type SetScores struct {
	Key     Key
	Members []Score
	// OnlyNew leaves existing members as they are; OnlyExisting adds no members.
	OnlyNew      bool
	OnlyExisting bool
	// OnlyGreater and OnlyLess change an existing member only if its score would rise, or fall. They do
	// not keep members from being added.
	OnlyGreater bool
	OnlyLess    bool
	Changed     bool
	// Increment adds Score to the score of the member, of which there must be exactly one. A sum that
	// is not a number is Invalid.
	Increment bool
}

// ScoresBy is the order in which Scores selects members.
type ScoresBy uint8

const (
	ByRank  ScoresBy = iota // Start … Stop
	ByScore                 // Min … Max
	ByName                  // Min … Max; meant for members of equal scores
)

// Bound is an end of a range of scores or names.
type Bound struct {
	Score float64
	Name  string
	// Exclusive: the bound itself is outside.
	Exclusive bool
	// Open: there is no bound on this side.
	Open bool
}

// Scores returns members of a sorted set in the order of their scores, those of
// equal scores in byte order. Ranks count from 0, negative ones from the end.
// Result: Elements with their scores; Session. More than Limits.ReadBytes is
// TooLarge.
type Scores struct {
	Key         Key
	By          ScoresBy
	Start, Stop int64 // inclusive
	Min, Max    Bound
	// Reverse begins with the highest; ranks count from there.
	Reverse bool
	Offset  int // members in the range to pass over; not with ByRank
	Limit   int // 0: no limit; not with ByRank
}

// RemoveScores removes the members of a sorted set that Of selects. A key that becomes empty is
// deleted. If the members take more memory than one operation may remove, the error is TooLarge, and
// nothing is removed. Result: Removed, Count (held after it), Revision; with Answer also Elements, the
// removed members in the order of Of.
type RemoveScores struct {
	Of     Scores
	Answer bool
}

// Rank returns the rank of a member, from 0. Result: Found, Number, Score; Session.
type Rank struct {
	Key     Key
	Member  string
	Reverse bool // from the highest score
}

func (o *SetScores) Validate(l Limits) error {
	switch {
	case o.OnlyNew && o.OnlyExisting:
		return Errorf(Invalid, "XX and NX options at the same time are not compatible")
	case o.OnlyGreater && o.OnlyLess, o.OnlyNew && (o.OnlyGreater || o.OnlyLess):
		return Errorf(Invalid, "GT, LT, and/or NX options at the same time are not compatible")
	case o.Increment && len(o.Members) != 1:
		return Errorf(Invalid, "INCR option supports a single increment-element pair")
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	if err := checkElements(len(o.Members)); err != nil {
		return err
	}
	total := 0
	for _, m := range o.Members {
		if math.IsNaN(m.Score) {
			return Errorf(Invalid, "value is not a valid float")
		}
		if err := checkName(m.Member); err != nil {
			return err
		}
		total += len(m.Member)
	}
	return l.checkTogether(total)
}

func (o *RemoveScores) Validate(l Limits) error { return o.Of.Validate(l) }

func (q *Scores) Validate(l Limits) error {
	if q.By > ByName {
		return Errorf(Invalid, "unknown way to select members")
	}
	if math.IsNaN(q.Min.Score) || math.IsNaN(q.Max.Score) {
		return Errorf(Invalid, "min or max is not a float")
	}
	if q.Offset < 0 || q.Limit < 0 {
		return Errorf(Invalid, "offset and limit must not be negative")
	}
	return l.checkKey(q.Key)
}

func (q *Rank) Validate(l Limits) error {
	if err := checkName(q.Member); err != nil {
		return err
	}
	return l.checkKey(q.Key)
}
