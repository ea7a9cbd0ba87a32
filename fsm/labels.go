package fsm

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// labelsNamespace has the index of labels: for each label of a namespace, of one value, a hash. Its
// fields are the revisions of the sessions that carry it, the highest one first, with their names. No
// client gets at it: no namespace may have that name.
const labelsNamespace = "~labels"

// labelKey returns the joined key of a label's hash: neither the namespace nor the label's name has a NUL.
func labelKey(namespace string, l turn.Label) string {
	return layout.JoinKey(turn.Key{Namespace: labelsNamespace, Name: namespace + "\x00" + l.Name + "\x00" + l.Value})
}

// labelFieldSize is how many bytes a field of an index has.
const labelFieldSize = 8

// labelField returns the field of the session that changed last at a revision.
func labelField(revision uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, ^revision))
}

// revisionOf is the reverse of labelField.
func revisionOf(field string) uint64 { return ^binary.BigEndian.Uint64([]byte(field)) }

// relabel moves a session, an owned head that has just got its revision, in the index. Before
// turn.Level2 there is no index: a session enters it with its first change at that level.
func (ks *keyspace) relabel(key string, h *memtable.Head, before uint64) {
	if ks.meta.Level < turn.Level2 {
		return
	}
	labels := h.Labels()
	for _, l := range labels {
		x := labelling{ks, key, l}
		if h.Labelled {
			x.move(before, h.Revision)
		} else {
			x.move(0, h.Revision)
		}
	}
	h.Labelled = len(labels) > 0
}

// unlabel takes a session that is in the index out of it.
func (ks *keyspace) unlabel(key string, h *layout.Head) {
	for _, l := range turn.LabelsOf(h.Meta) {
		labelling{ks, key, l}.move(h.Revision, 0)
	}
}

// labelling is what the index has of a session under one of its labels.
type labelling struct {
	*keyspace
	session string // its joined key
	label   turn.Label
}

// move takes the session out of the hash at one revision, unless that is 0, and into it at another one,
// unless that is 0. What the disk says is kept as the fault.
func (x labelling) move(from, to uint64) {
	k := layout.SplitKey(x.session)
	key := labelKey(k.Namespace, x.label)
	h, err := x.stored(key)
	if err != nil {
		x.fault = err
		return
	}
	if h == nil { // nor is there an entry to be removed, on any node
		from = 0
	}
	if h == nil && to == 0 {
		return
	}
	before := h != nil
	if before {
		h = x.Own(key, h)
	} else {
		h = x.Begin(key, turn.TypeHash)
	}
	size := uint64(labelFieldSize + len(k.Name))
	if from != 0 {
		x.tables.Active.DeleteOnce(h, labelField(from))
		x.noteGap(h, labelField(from))
		h.Live[0]--
		h.Bytes -= size
	}
	if to != 0 {
		x.PutElement(h, labelField(to), []byte(k.Name))
		h.Live[0]++
		h.Bytes += size
	}
	x.Settle(key, h, before)
}

// checkLabelCount refuses metadata with more labels than a session may have.
func (ks *keyspace) checkLabelCount(metadata iter.Seq[string]) error {
	n := 0
	for k := range metadata {
		if strings.HasPrefix(k, turn.LabelPrefix) {
			n++
		}
	}
	if n > turn.MaxLabels && ks.meta.Level >= turn.Level2 {
		return turn.Errorf(turn.TooLarge, "the session would have %d labels, the limit is %d", n, turn.MaxLabels)
	}
	return nil
}
