package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// lists applies the operations on sessions that only Redis has.
type lists struct{ *Operations }

// list is session for Redis's operations on lists, to which an empty one is none.
func (l lists) list(key string) (*memtable.Head, error) {
	h, err := l.session(key)
	if err != nil || !h.Held() {
		return nil, err
	}
	return h, nil
}
