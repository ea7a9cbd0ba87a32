// Package idpath finds the ids that clients have put into the elements that they push, at configured paths of JSON
// objects. By its id, a push that a client sends again is recognised. Paths do not change, and may be used by any
// goroutine.
package idpath

import (
	"encoding/json"

	"github.com/turnlog/turnlog/turn"
)

// Paths says, by namespace, where elements that are pushed by Redis's commands
// carry an id: paths into JSON objects, each a name for every level. The first one
// counts that leads to a string of 1 to 64 bytes; an element without any is pushed
// without an id.
type Paths map[string][][]string

// Identify gives messages the ids that they carry and reports whether one does.
func (p Paths) Identify(namespace string, ms []turn.NewMessage) (found bool) {
	paths := p[namespace]
	if len(paths) == 0 {
		return false
	}
	for i := range ms {
		for _, path := range paths {
			if ms[i].ID = idAt(ms[i].Data, path); ms[i].ID != "" {
				found = true
				break
			}
		}
	}
	return found
}

// idAt returns the string at a path, empty if there is none that can be an id.
func idAt(data []byte, path []string) string {
	for _, name := range path {
		var object map[string]json.RawMessage
		if len(data) == 0 || json.Unmarshal(data, &object) != nil {
			return ""
		}
		data = object[name]
	}
	var id string
	if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &id) != nil || len(id) > turn.DefaultLimits().IDBytes {
		return ""
	}
	return id
}
