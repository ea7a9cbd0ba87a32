package memtable

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// Head is what is known of a key but for its messages or elements: its stored head, and where
// more is kept of it in memory.
type Head struct {
	layout.Head

	// Where more is kept of the key in memory, once it was looked up. No part of
	// the state; written to while in is the active memtable, and no more.
	in     *Table           // that holds the head, or held it before it was deleted
	tail   *tail            // of inc, in that memtable
	Window *idwindow.Window // of inc; perhaps forgotten since
	gaps   *gaps.Set        // between its elements, by ElementKey; nil: none are known
	// of a stream: entries with a lower name were removed: those below the floor, and as long as a memtable knows of
	// them, others
	Front string
	// labels are those in Meta, if labelsKnown; only of owned heads.
	labels      []turn.Label
	labelsKnown bool
}

// Labels returns the session's labels. The head is an owned one.
func (h *Head) Labels() []turn.Label {
	if !h.labelsKnown {
		h.labels, h.labelsKnown = turn.LabelsOf(h.Meta), true
	}
	return h.labels
}

// SetMeta replaces the metadata of an owned head.
func (h *Head) SetMeta(meta map[string]string) { h.Meta, h.labels, h.labelsKnown = meta, nil, false }

// Held reports whether the key exists as Redis sees it; h may be nil.
func (h *Head) Held() bool { return h != nil && (h.Count() > 0 || h.Type == turn.TypeStream) }

// CheckType returns an error if the key holds a value of another type; h may be nil.
func (h *Head) CheckType(want turn.Type) error {
	if h == nil || h.Type == want {
		return nil
	}
	return turn.Errorf(turn.WrongType, "the key holds a %s, not a %s", h.Type, want)
}

// openHead decodes a head as the store has it.
func openHead(key, stored []byte) (*Head, error) {
	b, err := layout.Dumped(layout.BucketHeads, key, stored)
	if err != nil {
		return nil, err
	}
	return DecodeHead(b)
}

// DecodeHead returns a head of which nothing is in memory yet.
func DecodeHead(b []byte) (*Head, error) {
	h := new(Head)
	if err := h.Decode(b); err != nil {
		return nil, err
	}
	h.Front = h.StreamFront()
	return h, nil
}

// StreamFront returns the name below which no entry is alive, by the floor; empty if the
// key is no stream, or has none.
func (h *Head) StreamFront() string {
	if h.Type != turn.TypeStream || h.Low == [2]uint64{} {
		return ""
	}
	return layout.EntryName(turn.EntryID{Time: h.Low[0], Seq: h.Low[1]}) + "\x00"
}

// StoredHead reads a head from the store, nil if there is none.
func StoredHead(tx *store.Reading, key string) (*Head, error) {
	b, err := tx.Get(layout.BucketHeads, []byte(key))
	if b == nil || err != nil {
		return nil, err
	}
	return openHead([]byte(key), b)
}
