package values

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Question is what a query asks of a value.
type Question struct {
	Key   turn.Key
	Type  turn.Type
	Names int // how many elements it looks up by name; 0: it asks for a range
}

// Asks returns what q asks of a value; ok is false if it asks for something else.
func Asks(q turn.Query) (x Question, ok bool) {
	switch q := q.(type) {
	case *turn.GetString:
		return Question{q.Key, turn.TypeString, 1}, true
	case *turn.Fields:
		return Question{q.Key, q.Type, len(q.Names)}, true
	case *turn.AllFields:
		return Question{q.Key, q.Type, 0}, true
	case *turn.Scores:
		return Question{q.Key, turn.TypeZSet, 0}, true
	case *turn.Rank:
		return Question{q.Key, turn.TypeZSet, 0}, true
	case *turn.Entries:
		return Question{q.Key, turn.TypeStream, 0}, true
	}
	return Question{}, false
}

// Bounds bound an answer: Payload bounds its bytes, about, and Size what it counts for in all, by turn.Limits.
type Bounds struct{ Payload, Size int }

// Answer answers q from the elements of the value that it asks for. r has the value's Count.
// What must be whole is an error if it exceeds the bounds, of what
// comes in pages the rest is left for the next one.
func Answer(q turn.Query, e *memtable.Elements, b Bounds, r *turn.Result) error {
	limit := min(b.Payload, b.Size)
	switch q := q.(type) {
	case *turn.GetString:
		return getString(e, r)
	case *turn.Fields:
		return fields(q, e, b, r)
	case *turn.AllFields:
		return allFields(q, e, limit, r)
	case *turn.Scores:
		return scores(q, e, limit, r)
	case *turn.Rank:
		return rank(q, e, r)
	case *turn.Entries:
		return entries(q, e, b, r)
	}
	return turn.Errorf(turn.Invalid, "query %T is unknown", q)
}

// Absent answers q for a key that does not exist.
func Absent(q turn.Query, r *turn.Result) {
	if f, ok := q.(*turn.Fields); ok {
		for _, name := range f.Names {
			r.Elements = append(r.Elements, turn.Element{Name: name, Missing: true})
		}
	}
}
