package turn

// The edits below are Redis's, in the middle of a list. Messages keep their numbers for
// life: one that is replaced keeps its own, with its time and id, and gets another
// payload. One that takes a place between others moves those between it and the nearer
// end: they are removed and added again with new seqs, and with their times and ids. At
// most DefaultLimits().ForkMessages messages and ForkBytes bytes are moved; more is
// TooLarge.
//
// Whatever is done to a message, a retry of its append is recognised by what it was
// appended with, and answered with its first seq. Replaced and moved messages do not
// count among the last 1,024 appended ones.

// SetElement replaces the element at Index of the list. There must be one: NotFound
// if there is no list, Invalid if it is shorter. Result: Count, Revision.
type SetElement struct {
	Key   Key
	Index int64 // negative from the tail
	Data  []byte
}

// InsertElement puts an element next to the first one that equals Pivot. Result: Number, the length of
// the list afterwards, 0 if there is no list, −1 if it has no such element; Count; Revision.
type InsertElement struct {
	Key   Key
	Pivot []byte
	After bool // else before it
	Data  []byte
}

// RemoveElements removes elements that equal Data: the first Count of them, the last −Count if Count is
// negative, or all if it is 0. Other elements are not moved. Result: Removed, Count (held after it),
// Revision.
type RemoveElements struct {
	Key   Key
	Count int64
	Data  []byte
}

func (o *SetElement) Validate(l Limits) error {
	if err := l.checkValue(o.Data); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}

func (o *InsertElement) Validate(l Limits) error {
	if err := l.checkValue(o.Data); err != nil {
		return err
	}
	if err := l.checkValue(o.Pivot); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}

func (o *RemoveElements) Validate(l Limits) error {
	if err := l.checkValue(o.Data); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}
