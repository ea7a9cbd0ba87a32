package httpapi

import (
	"net/http"

	"github.com/turnlog/turnlog/turn"
)

// namespaceHeader names a namespace for a path that names none.
const namespaceHeader = "Turnlog-Namespace"

func namespaceOf(h http.Header, inPath string) (string, error) {
	given := h.Values(namespaceHeader)
	if inPath != "" {
		given = append([]string{inPath}, given...)
	}
	if len(given) == 0 {
		return turn.DefaultNamespace, nil
	}
	for _, ns := range given[1:] {
		if ns != given[0] {
			return "", turn.Errorf(turn.Invalid, "two namespaces are named, %.64q and %.64q", given[0], ns)
		}
	}
	return given[0], nil
}

func (c *call) key() turn.Key { return turn.Key{Namespace: c.namespace, Name: c.path["key"]} }
