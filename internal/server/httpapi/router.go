package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// route is an endpoint: what it answers to, and with what.
type route struct {
	method  string
	pattern string   // segments; {name} stands for any one segment
	params  []string // query parameters that it knows
	needs   need
	serve   func(*call) (any, error)
}

// router finds the route of a request by its path as it was sent.
//
// http.ServeMux is not used because it cleans paths and redirects: a session
// whose key is "..", or ends in a slash, would be out of reach or mistaken for
// another. Here a segment is what is between two slashes, and is decoded
// after the path was split.
type router struct {
	routes []route
}

const namespacePrefix = "/v1/ns/"

// target is what a path says.
type target struct {
	route     *route
	namespace string            // from the path; "" if it has none
	path      map[string]string // what the names in the pattern stand for
}

// find returns the target of a request, a NotFound error or a *methodError.
func (rt *router) find(method string, u *url.URL) (target, error) {
	var t target
	path := u.RawPath // set if and only if it says something that Path does not
	if path == "" {
		path = u.EscapedPath()
	}
	if rest, ok := strings.CutPrefix(path, namespacePrefix); ok {
		ns, rest, _ := strings.Cut(rest, "/")
		ns, err := url.PathUnescape(ns)
		if err != nil || ns == "" || !strings.HasPrefix(rest, "sessions") && !strings.HasPrefix(rest, "hashes/") &&
			rest != "transactions" {
			return t, unknownPath(path)
		}
		t.namespace, path = ns, "/v1/"+rest
	}
	segments := strings.Split(path, "/")
	var allow []string
	for i := range rt.routes {
		r := &rt.routes[i]
		values, ok := match(r.pattern, segments)
		if !ok {
			continue
		}
		if r.method == method || r.method == http.MethodGet && method == http.MethodHead {
			t.route, t.path = r, values
			return t, nil
		}
		if allow = append(allow, r.method); r.method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	if len(allow) == 0 {
		return t, unknownPath(path)
	}
	slices.Sort(allow)
	return t, &methodError{allow: strings.Join(allow, ", ")}
}

func unknownPath(path string) error {
	return turn.Errorf(turn.NotFound, "no such path: %.200q; /openapi.yaml lists all paths", path)
}

// match compares segments, still encoded, with a pattern.
func match(pattern string, segments []string) (values map[string]string, ok bool) {
	for i, s := range segments {
		want, rest, more := strings.Cut(pattern, "/")
		if more != (i < len(segments)-1) {
			return nil, false
		}
		pattern = rest
		name, isName := strings.CutPrefix(want, "{")
		if !isName {
			if s != want {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(s)
		if err != nil {
			return nil, false
		}
		if values == nil {
			values = make(map[string]string, 1)
		}
		values[strings.TrimSuffix(name, "}")] = value
	}
	return values, true
}
