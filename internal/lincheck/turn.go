package lincheck

import "github.com/turnlog/turnlog/internal/lincheck/history"

// turn is what one append wants to add, in one attempt or, under ids, several.
type turn struct {
	values   []string
	attempts []*history.Operation
	first    uint64 // seq of its first message in the final order; 0: absent
}

func (t *turn) last() uint64 { return t.first + uint64(len(t.values)) - 1 }

// onlyAuthor returns an attempt that must have appended t, not being answered
// as the first, or that had the same condition as the one that did; nil if that is not known.
func (t *turn) onlyAuthor() *history.Operation {
	var author *history.Operation
	for _, op := range t.attempts {
		switch {
		case op.Outcome == history.OK && !op.Result.Duplicate:
			return nil // the author is known, and its answer was looked at
		case !op.Unsettled():
		case op.Call.Expect == nil, author != nil && *author.Call.Expect != *op.Call.Expect:
			return nil
		default:
			author = op
		}
	}
	return author
}
