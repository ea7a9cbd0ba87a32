package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// head is what is known of a key but for its messages or elements: its stored head, and where
// more is kept of it in memory.
type head struct {
	layout.Head

	// Where more is kept of the key in memory, once it was looked up. No part of
	// the state; written to while in is the active memtable, and no more.
	in     *memtable        // that holds the head, or held it before it was deleted
	tail   *tail            // of inc, in that memtable
	window *idwindow.Window // of inc; perhaps forgotten since
	gaps   *gaps.Set        // between its elements, by ElementKey; nil: none are known
	// of a stream: entries with a lower name were removed: those below the floor, and as long as a memtable knows of
	// them, others
	front string
}

// held reports whether the key exists as Redis sees it; h may be nil.
func (h *head) held() bool { return h != nil && (h.Count() > 0 || h.Type == turn.TypeStream) }

// openHead decodes a head as the store has it.
func openHead(key, stored []byte) (*head, error) {
	b, err := layout.Dumped(layout.BucketHeads, key, stored)
	if err != nil {
		return nil, err
	}
	return decodeHead(b)
}

// decodeHead returns a head of which nothing is in memory yet.
func decodeHead(b []byte) (*head, error) {
	h := new(head)
	if err := h.Decode(b); err != nil {
		return nil, err
	}
	h.front = h.streamFront()
	return h, nil
}
