package layout

import (
	"encoding/binary"
	"slices"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Meta is the state that belongs to no session. It is copied at each flush.
type Meta struct {
	Index   uint64 // of the last entry applied
	Term    uint64
	Clock   int64  // cluster time, Unix milliseconds
	LastInc uint64 // last incarnation given out
	// DueFloor: every entry of the due index up to it has been dealt with.
	DueFloor string
	// TombstonesUntil: no tombstone has a later deadline.
	TombstonesUntil int64
	ClusterID       string
	Level           turn.ClusterLevel
	Members         []codec.Member // ordered by ID; replaced, never changed
}

// metaVersion is that of the state description.
const metaVersion = 1

// Encode returns the stored form.
func (m *Meta) Encode() []byte {
	b := []byte{metaVersion}
	for _, v := range [...]uint64{
		m.Index, m.Term, uint64(m.Clock), m.LastInc, uint64(m.TombstonesUntil), uint64(m.Level),
	} {
		b = binary.AppendUvarint(b, v)
	}
	b = AppendString(AppendString(b, m.DueFloor), m.ClusterID)
	b = binary.AppendUvarint(b, uint64(len(m.Members)))
	for _, n := range m.Members {
		for _, s := range [...]string{n.ID, n.Incarnation, n.RESPAddr, n.HTTPAddr} {
			b = AppendString(b, s)
		}
	}
	return m.appendLearners(b)
}

// appendLearners appends which members are learners, if any is: so that versions before turn.Level2 can read a
// state in which there is none.
func (m *Meta) appendLearners(b []byte) []byte {
	if !slices.ContainsFunc(m.Members, func(n codec.Member) bool { return n.Learner }) {
		return b
	}
	for _, n := range m.Members {
		learner := byte(0)
		if n.Learner {
			learner = 1
		}
		b = append(b, learner)
	}
	return b
}

// DecodeMeta is the reverse of Encode.
func DecodeMeta(b []byte) (m Meta, err error) {
	if err := CheckVersion(b, metaVersion, "state description"); err != nil {
		return m, err
	}
	r := NewReader(b[1:])
	m = Meta{
		Index: r.Uint(), Term: r.Uint(), Clock: int64(r.Uint()), LastInc: r.Uint(),
		TombstonesUntil: int64(r.Uint()), Level: turn.ClusterLevel(r.Uint()), DueFloor: r.Text(), ClusterID: r.Text(),
	}
	for range r.Count() {
		m.Members = append(m.Members,
			codec.Member{ID: r.Text(), Incarnation: r.Text(), RESPAddr: r.Text(), HTTPAddr: r.Text()})
	}
	for i := 0; i < len(m.Members) && (i > 0 || r.More()); i++ {
		m.Members[i].Learner = r.Uint() == 1
	}
	if err := r.End("state description"); err != nil {
		return m, err
	}
	return m, KnownLevel(m.Level)
}

// Member returns the member with that id.
func (m *Meta) Member(id string) (codec.Member, bool) {
	i := slices.IndexFunc(m.Members, func(n codec.Member) bool { return n.ID == id })
	if i < 0 {
		return codec.Member{}, false
	}
	return m.Members[i], true
}

// KnownLevel returns an error if this version does not know the cluster level.
func KnownLevel(l turn.ClusterLevel) error {
	if l > turn.NewestLevel {
		return turn.Errorf(turn.Newer, "the cluster is at level %d, this version of turnlog knows levels up to %d: "+
			"run the version that the other nodes run", l, turn.NewestLevel)
	}
	return nil
}
