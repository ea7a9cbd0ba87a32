package turn

import "github.com/turnlog/turnlog/internal/toolcalls"

// toolIDs returns the ids of the tool calls that a payload makes and of those whose results it holds, of each
// at most as many as count.
func toolIDs(data []byte) (calls, results idSet) {
	toolcalls.Scan(data, func(id []byte, result bool) {
		set := &calls
		if result {
			set = &results
		}
		set.add(id)
	})
	return calls, results
}

type idSet map[string]struct{}

func (s *idSet) add(id []byte) {
	if *s == nil {
		*s = make(idSet)
	}
	if len(*s) < toolcalls.MaxIDs {
		(*s)[string(id)] = struct{}{}
	}
}
