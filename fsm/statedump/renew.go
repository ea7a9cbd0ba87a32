package statedump

import (
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Jump is by how much a renewal raises incarnations and revisions: by 2^32, since no cluster gets as far
// between a backup and its loss, so that what it gave out is not given out again; and by up to 2^48 more, as the
// new cluster's id, which is random, has it. Two clusters that begin with the same backup give out the same number
// only if the ranges of what they gave out meet: of two that made a million changes each, one pair in 134
// million does. Numbers stay below 2^53, up to which JSON is exact, for 31 renewals, one after the other.
func (n *Renewal) Jump() uint64 {
	sum := sha256.Sum256([]byte(n.ClusterID))
	return 1<<32 + binary.LittleEndian.Uint64(sum[:])>>16
}

// Renewal is whose state a renewed dump is.
type Renewal struct {
	ClusterID string         // of the new cluster
	Members   []codec.Member // recorded from the beginning, ordered by id
}

// Renew copies a dump for the state of a new cluster, which goes on where the dump ends. The old
// cluster may have gone further, and told its clients of it. So that nothing that they have
// seen of what is lost can be taken for what comes in its place:
//
//   - each session, and each other value, gets a new incarnation, above any that the old cluster gave
//     out: a tail or a read position of the old one is recognised as that of another session;
//   - the revision of each namespace goes on above any that the old cluster can have reached; sessions
//     keep theirs. A revision that a client saw of what is lost fails as a condition.
//
// Seqs, ids, times, revisions of sessions, deadlines, tombstones and all payloads stay as they are. Renew
// returns what the dump held, which it verifies as Inspect does.
func Renew(w io.Writer, r io.Reader, n Renewal) (Content, error) {
	out, err := NewWriter(w)
	if err != nil {
		return Content{}, err
	}
	re := renewer{Renewal: n, out: out}
	if err := Read(r, re.pair); err != nil {
		return Content{}, err
	}
	if !re.found.described {
		return Content{}, turn.Errorf(turn.Corrupt, "state dump lacks the state description")
	}
	if err := re.floorsBelow(""); err != nil {
		return Content{}, err
	}
	return re.found.content, out.End()
}

// renewer copies the pairs of a dump, changing what Renew says.
type renewer struct {
	Renewal
	out    *Writer
	found  inspector
	floors int // how many of the floors of revisions are written
}

func (n *renewer) pair(bucket, k, v []byte) (err error) {
	if err := n.found.pair(bucket, k, v); err != nil {
		return err
	}
	switch string(bucket) {
	case string(layout.BucketMeta):
		v, err = n.meta(k, v)
	case string(layout.BucketHeads):
		v, err = n.head(v)
	case string(layout.BucketBlocks), string(layout.BucketElements):
		k = n.jumped(k, 0)
		if string(bucket) == string(layout.BucketElements) {
			v = layout.Seal(k, v[layout.SealSize:])
		}
	case string(layout.BucketTombstones):
		k = n.jumped(k, len(k)-8)
	case string(layout.BucketGarbage):
		k, v, err = n.waste(k, v)
	case string(layout.BucketNamespaces):
		v, err = n.namespace(k, v)
	}
	if err == nil && afterNamespaces(bucket) {
		err = n.floorsBelow("")
	}
	if err != nil {
		return err
	}
	return n.out.Pair(bucket, k, v)
}

// afterNamespaces reports whether a bucket comes after that of the namespaces.
func afterNamespaces(bucket []byte) bool { return string(bucket) == string(layout.BucketElements) }

func (n *renewer) meta(k, v []byte) ([]byte, error) {
	if string(k) != string(layout.KeyState) {
		return v, nil
	}
	m, err := layout.DecodeMeta(v)
	if err != nil {
		return nil, err
	}
	m.ClusterID, m.Members = n.ClusterID, n.Members
	m.LastInc += n.Jump()
	return m.Encode(), nil
}

func (n *renewer) head(v []byte) ([]byte, error) {
	var h layout.Head
	if err := h.Decode(v); err != nil {
		return nil, err
	}
	h.Inc += n.Jump()
	return h.Append(nil), nil
}

// jumped returns a key with the incarnation in it, which is at an offset, raised.
func (n *renewer) jumped(k []byte, at int) []byte {
	b := append([]byte{}, k...)
	binary.BigEndian.PutUint64(b[at:], binary.BigEndian.Uint64(b[at:])+n.Jump())
	return b
}

func (n *renewer) waste(k, v []byte) (key, value []byte, err error) {
	if len(k) != 16 {
		return nil, nil, turn.Errorf(turn.Corrupt, "the key %x is not that of garbage", k)
	}
	x, err := layout.ParseWaste(v)
	if err != nil {
		return nil, nil, err
	}
	if x.Tombstone != "" {
		if len(x.Tombstone) < 8 {
			return nil, nil, turn.Errorf(turn.Corrupt, "the key %x is not that of a tombstone", x.Tombstone)
		}
		x.Tombstone = string(n.jumped([]byte(x.Tombstone), len(x.Tombstone)-8))
	}
	return n.jumped(k, 8), x.Encode(), nil
}

// namespace raises the revision of a namespace, or of a floor; the floors before it are written first.
func (n *renewer) namespace(k, v []byte) ([]byte, error) {
	if err := n.floorsBelow(string(k)); err != nil {
		return nil, err
	}
	if n.floors < layout.RevisionFloors && string(k) == layout.FloorAt(n.floors) {
		n.floors++
	}
	s, err := layout.DecodeNamespace(v)
	if err != nil {
		return nil, err
	}
	if s.Revision != 0 { // else the floor counts
		s.Revision += n.Jump()
	}
	return s.Encode(), nil
}

// floorsBelow writes the floors of revisions that the dump lacks, up to a key; empty: all. The old
// cluster may have had namespaces that the dump does not know.
func (n *renewer) floorsBelow(key string) error {
	for ; n.floors < layout.RevisionFloors && (key == "" || layout.FloorAt(n.floors) < key); n.floors++ {
		floor := layout.Namespace{Revision: n.Jump()}
		if err := n.out.Pair(layout.BucketNamespaces, []byte(layout.FloorAt(n.floors)), floor.Encode()); err != nil {
			return err
		}
	}
	return nil
}
