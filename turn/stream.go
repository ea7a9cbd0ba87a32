package turn

import "cmp"

// EntryID identifies an entry of a stream. The ids of a stream's entries rise.
type EntryID struct {
	Time uint64 // milliseconds, if made by AddEntry
	Seq  uint64
}

// MaxEntryID returns the highest id.
func MaxEntryID() EntryID { return EntryID{^uint64(0), ^uint64(0)} }

// Compare is negative if id comes before other, 0 if they are equal.
func (id EntryID) Compare(other EntryID) int {
	return cmp.Or(cmp.Compare(id.Time, other.Time), cmp.Compare(id.Seq, other.Seq))
}

// Next returns the id after id; the highest has none.
func (id EntryID) Next() (next EntryID, ok bool) {
	switch {
	case id.Seq < ^uint64(0):
		return EntryID{id.Time, id.Seq + 1}, true
	case id.Time < ^uint64(0):
		return EntryID{id.Time + 1, 0}, true
	}
	return id, false
}

// Prev returns the id before id; the zero id has none.
func (id EntryID) Prev() (prev EntryID, ok bool) {
	switch {
	case id.Seq > 0:
		return EntryID{id.Time, id.Seq - 1}, true
	case id.Time > 0:
		return EntryID{id.Time - 1, ^uint64(0)}, true
	}
	return id, false
}

// Entry is an entry of a stream: pairs of name and value, in the order in which they were added. Names
// may occur more than once.
type Entry struct {
	ID     EntryID
	Fields []Field
}

// MakeID says how AddEntry finds an entry's id.
type MakeID uint8

const (
	IDGiven   MakeID = iota // ID, which must be higher than every id before
	IDSeqMade               // the lowest such id with ID's time
	IDMade                  // cluster time, with the lowest Seq that makes it so
)

// TrimStreamBy selects what a StreamTrim removes.
type TrimStreamBy uint8

const (
	TrimNothing TrimStreamBy = iota
	ToLength                 // the oldest entries, until Length are left
	BeforeID                 // entries with ids below ID
)

// StreamTrim removes entries from the beginning of a stream.
type StreamTrim struct {
	By     TrimStreamBy
	Length uint64
	ID     EntryID
	Limit  uint64 // at most so many entries; 0: no limit
}

// AddEntry appends an entry to a stream, creating it if needed, and then trims it. An id that is not
// higher than the highest ever assigned is Invalid. Result: ID, Found = true; Removed (trimmed), Count
// (held after it), Revision.
type AddEntry struct {
	Key    Key
	ID     EntryID
	Make   MakeID
	Fields []Field
	Trim   StreamTrim
	// OnlyExisting makes it a no-op, with Found = false, if there is no stream.
	OnlyExisting bool
}

// TrimEntries trims a stream, which stays when it becomes empty.
// Result: Removed, Count, Revision.
type TrimEntries struct {
	Key  Key
	Trim StreamTrim
}

// RemoveEntries removes entries of a stream, which stays when it becomes empty.
// Result: Removed, Count, Revision.
type RemoveEntries struct {
	Key Key
	IDs []EntryID
}

// Entries returns entries of a stream with ids from Min to Max, both included, the
// lowest first. Result: Entries; Session; More if Limit or Limits.ReadBytes cut
// something off.
type Entries struct {
	Key      Key
	Min, Max EntryID
	Reverse  bool // the highest first
	Limit    int  // 0: no limit but Limits.ReadBytes
}

func (t *StreamTrim) validate() error {
	if t.By > BeforeID {
		return Errorf(Invalid, "unknown way to trim a stream")
	}
	return nil
}

func (o *AddEntry) Validate(l Limits) error {
	switch {
	case o.Make > IDMade:
		return Errorf(Invalid, "unknown way to make an id")
	case o.Make == IDGiven && o.ID == EntryID{}:
		return Errorf(Invalid, "The ID specified in XADD must be greater than 0-0")
	}
	if err := o.Trim.validate(); err != nil {
		return err
	}
	if err := l.checkKey(o.Key); err != nil {
		return err
	}
	return l.checkFields(o.Fields)
}

func (o *TrimEntries) Validate(l Limits) error {
	if err := o.Trim.validate(); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}

func (o *RemoveEntries) Validate(l Limits) error {
	if err := checkElements(len(o.IDs)); err != nil {
		return err
	}
	return l.checkKey(o.Key)
}

func (q *Entries) Validate(l Limits) error {
	if q.Limit < 0 {
		return Errorf(Invalid, "limit must not be negative")
	}
	return l.checkKey(q.Key)
}
