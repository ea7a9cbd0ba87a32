package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// object is a mapping of the OpenAPI document.
type object = map[string]any

// spec is the document, and what of its schemas has been seen in use.
type spec struct {
	root object
	seen map[string]bool // "schema.property"
}

func loadSpec(t testing.TB) *spec {
	s := &spec{seen: map[string]bool{}}
	if err := yaml.Unmarshal(openapi, &s.root); err != nil {
		t.Fatal(err)
	}
	return s
}

// resolve follows a reference and returns the name of what it names.
func (s *spec) resolve(v any, name string) (object, string) {
	o, _ := v.(object)
	ref, ok := o["$ref"].(string)
	if !ok {
		return o, name
	}
	var at any = s.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(object)[part]
	}
	if at == nil {
		panic("dangling reference " + ref)
	}
	return s.resolve(at, ref[strings.LastIndex(ref, "/")+1:])
}

// check returns the first way in which v, decoded JSON, breaks the schema.
func (s *spec) check(schema any, name string, v any) error {
	o, name := s.resolve(schema, name)
	for keyword, want := range o {
		if err := s.keyword(o, keyword, want, name, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *spec) keyword(o object, keyword string, want any, name string, v any) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s: %v: %s", name, v, fmt.Sprintf(format, args...))
	}
	n, isNumber := v.(float64)
	m, isObject := v.(map[string]any)
	switch keyword {
	case "description", "default", "contentEncoding":
	case "type":
		types, ok := want.([]any)
		if !ok {
			types = []any{want}
		}
		if !slices.Contains(types, any(typeOf(v))) {
			return bad("is %s, want %v", typeOf(v), want)
		}
	case "enum":
		if !slices.Contains(want.([]any), v) {
			return bad("not among %v", want)
		}
	case "const":
		if !reflect.DeepEqual(v, want) {
			return bad("not %v", want)
		}
	case "minimum":
		if isNumber && n < float64(want.(int)) {
			return bad("below %v", want)
		}
	case "maximum":
		if isNumber && n > float64(want.(int)) {
			return bad("above %v", want)
		}
	case "pattern":
		if text, ok := v.(string); ok && !regexp.MustCompile(want.(string)).MatchString(text) {
			return bad("does not match %s", want)
		}
	case "minItems":
		if a, ok := v.([]any); ok && len(a) < want.(int) {
			return bad("too short")
		}
	case "maxItems":
		if a, ok := v.([]any); ok && len(a) > want.(int) {
			return bad("too long")
		}
	case "minProperties":
		if isObject && len(m) < want.(int) {
			return bad("has too few members")
		}
	case "maxProperties":
		if isObject && len(m) > want.(int) {
			return bad("has too many members")
		}
	case "items":
		a, _ := v.([]any)
		for _, x := range a {
			if err := s.check(want, name+"[]", x); err != nil {
				return err
			}
		}
	case "required":
		for _, p := range want.([]any) {
			if _, ok := m[p.(string)]; isObject && !ok {
				return bad("has no %v", p)
			}
		}
	case "properties":
		for p, x := range m {
			if schema, ok := want.(object)[p]; ok {
				s.seen[name+"."+p] = true
				if err := s.check(schema, name+"."+p, x); err != nil {
					return err
				}
			}
		}
	case "additionalProperties", "unevaluatedProperties":
		for p, x := range m {
			if s.declares(o, p) {
				continue
			}
			if want == false {
				return bad("has a property %s that is not documented", p)
			}
			if err := s.check(want, name+".*", x); err != nil {
				return err
			}
		}
	case "allOf":
		for _, part := range want.([]any) {
			if err := s.check(part, name, v); err != nil {
				return err
			}
		}
	default:
		return bad("keyword %s is unknown to this test", keyword)
	}
	return nil
}

// declares reports whether o, or a part of it, has the property p.
func (s *spec) declares(o object, p string) bool {
	if props, ok := o["properties"].(object); ok && props[p] != nil {
		return true
	}
	parts, _ := o["allOf"].([]any)
	for _, part := range parts {
		if o, _ := s.resolve(part, ""); s.declares(o, p) {
			return true
		}
	}
	return false
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// unseen returns the documented properties below a schema that never were seen.
func (s *spec) unseen(schema any, name string) (missing []string) {
	o, name := s.resolve(schema, name)
	props, _ := o["properties"].(object)
	for p, x := range props {
		if !s.seen[name+"."+p] {
			missing = append(missing, name+"."+p)
		}
		missing = append(missing, s.unseen(x, name+"."+p)...)
	}
	if items, ok := o["items"]; ok {
		missing = append(missing, s.unseen(items, name+"[]")...)
	}
	parts, _ := o["allOf"].([]any)
	for _, part := range parts {
		missing = append(missing, s.unseen(part, name)...)
	}
	return missing
}

func decodeJSON(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// operation is one method of one path of the document.
type operation struct {
	object
	method, path, id string
	params           []object // with those of the path, resolved
}

func (s *spec) operations() (ops []operation) {
	paths := s.root["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(object)
		for _, method := range []string{"get", "post", "patch", "delete", "put", "head"} {
			o, ok := item[method].(object)
			if !ok {
				continue
			}
			op := operation{object: o, method: strings.ToUpper(method), path: path, id: o["operationId"].(string)}
			for _, list := range []any{item["parameters"], o["parameters"]} {
				ps, _ := list.([]any)
				for _, p := range ps {
					resolved, _ := s.resolve(p, "")
					op.params = append(op.params, resolved)
				}
			}
			ops = append(ops, op)
		}
	}
	return ops
}

// responses maps each documented status to its media type and schema.
func (s *spec) response(op operation, status string) (mediaType string, schema any) {
	resp, _ := s.resolve(op.object["responses"].(object)[status], "")
	for mediaType, content := range resp["content"].(object) {
		return mediaType, content.(object)["schema"]
	}
	return "", nil
}

func (s *spec) requestSchema(op operation) any {
	body, _ := s.resolve(op.object["requestBody"], "")
	if body == nil {
		return nil
	}
	return body["content"].(object)["application/json"].(object)["schema"]
}
