package fsm

import (
	"encoding/binary"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// meta is the state that belongs to no session. It is copied at each flush.
type meta struct {
	index   uint64 // of the last entry applied
	term    uint64
	clock   int64  // cluster time, Unix milliseconds
	lastInc uint64 // last incarnation given out
	// dueFloor: every entry of the due index up to it has been dealt with.
	dueFloor string
	// tombstonesUntil: no tombstone has a later deadline.
	tombstonesUntil int64
	clusterID       string
	level           turn.ClusterLevel
	members         []codec.Member // ordered by ID; replaced, never changed
	tags            tags           // set in a frozen memtable only; not changed
}

// metaVersion is that of the state description.
const metaVersion = 1

func (m *meta) encode() []byte {
	b := []byte{metaVersion}
	for _, v := range [...]uint64{
		m.index, m.term, uint64(m.clock), m.lastInc, uint64(m.tombstonesUntil), uint64(m.level),
	} {
		b = binary.AppendUvarint(b, v)
	}
	b = layout.AppendString(layout.AppendString(b, m.dueFloor), m.clusterID)
	b = binary.AppendUvarint(b, uint64(len(m.members)))
	for _, n := range m.members {
		for _, s := range [...]string{n.ID, n.Incarnation, n.RESPAddr, n.HTTPAddr} {
			b = layout.AppendString(b, s)
		}
	}
	return b
}

func decodeMeta(b []byte) (m meta, err error) {
	if err := layout.CheckVersion(b, metaVersion, "state description"); err != nil {
		return m, err
	}
	r := layout.NewReader(b[1:])
	m = meta{
		index: r.Uint(), term: r.Uint(), clock: int64(r.Uint()), lastInc: r.Uint(),
		tombstonesUntil: int64(r.Uint()), level: turn.ClusterLevel(r.Uint()), dueFloor: r.Text(), clusterID: r.Text(),
	}
	for range r.Count() {
		m.members = append(m.members,
			codec.Member{ID: r.Text(), Incarnation: r.Text(), RESPAddr: r.Text(), HTTPAddr: r.Text()})
	}
	if err := r.End("state description"); err != nil {
		return m, err
	}
	return m, knownLevel(m.level)
}

func (m *meta) member(id string) (codec.Member, bool) {
	i := slices.IndexFunc(m.members, func(n codec.Member) bool { return n.ID == id })
	if i < 0 {
		return codec.Member{}, false
	}
	return m.members[i], true
}
