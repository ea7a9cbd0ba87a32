package fsm

import (
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// joinKey is a session's key in memtables and store: namespace, NUL, name. A
// namespace has no NUL, so order by joined key is order by namespace, then name.
func joinKey(k turn.Key) string { return k.Namespace + "\x00" + k.Name }

func splitKey(s string) turn.Key {
	ns, name, _ := strings.Cut(s, "\x00")
	return turn.Key{Namespace: ns, Name: name}
}
