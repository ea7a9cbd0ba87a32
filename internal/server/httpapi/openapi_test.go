package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// The document has the routes of the server and their query parameters, and no
// others.
func TestDocumentListsEveryRoute(t *testing.T) {
	s := loadSpec(t)
	documented := map[string][]string{}
	for _, op := range s.operations() {
		params := []string{}
		for _, p := range op.params {
			if p["in"] == "query" {
				params = append(params, p["name"].(string))
			}
		}
		slices.Sort(params)
		documented[op.method+" "+op.path] = params
	}
	served := map[string][]string{}
	for _, r := range (&Server{}).routes() {
		served[r.method+" "+r.pattern] = slices.Sorted(slices.Values(append([]string{}, r.params...)))
	}
	if !maps.EqualFunc(documented, served, slices.Equal) {
		t.Errorf("documented: %v\nserved: %v", documented, served)
	}
}

// example is a request that shows one documented status.
type example struct {
	query, body string
	headers     []string
	path        string            // instead of the operation's own with the key "a"
	shows       func(*testServer) // brings about a fault beforehand
	users       bool              // users are configured
}

// examples has for each operation the requests that succeed, and for other
// statuses those that are not the same for all operations.
var examples = map[string]map[string][]example{
	"appendMessages": {
		"200": {{body: `{"messages":[{"id":"x","data":{"role":"user"}},{"data_base64":"AP8="}],"expect":0,"ttl_ms":60000}`,
			path: "/v1/sessions/new/messages"},
			{body: `{"messages":[{"data":1}],"must_exist":true,"metadata":{"k":"v","gone":null}}`}},
		"404": {{body: `{"messages":[{"data":1}],"must_exist":true}`, path: "/v1/sessions/absent/messages"}},
		"409": {{body: `{"messages":[{"data":1}],"expect":99}`}},
	},
	"readMessages": {
		"200": {
			{query: "last=1"}, {query: "metadata=true"}, {query: "metadata=true", path: "/v1/sessions/%FF/messages"},
			{query: "after=0&limit=5&max_bytes=100&max_tokens=9"},
			{query: "last=5&whole=true&since=1&until=9007199254740991"},
			{query: "before=9&encoding=base64"},
			{query: "consistency=bounded&max_age_ms=100"}, {path: "/v1/sessions/%FF/messages"},
		},
	},
	"streamMessages": {
		"200": {{query: "after=0&incarnation=99&encoding=base64", headers: []string{"Last-Event-ID: 0"}}},
	},
	"popMessages": {
		"200": {{body: `{"count":2,"from":"newest","expect":REV}`}, {query: "encoding=base64"}},
		"409": {{body: `{"expect":99}`}},
	},
	"trimMessages": {
		"200": {{body: `{"keep_last":1,"expect":REV}`}, {body: `{"before":2}`}},
		"409": {{body: `{"keep_last":1,"expect":99}`}},
	},
	"retainMessages": {
		"200": {{body: `{"messages":1,"expect":REV}`}, {body: `{"turns":1}`}, {body: `{"all":true}`}},
		"409": {{body: `{"messages":1,"expect":99}`}},
	},
	"editMessage": {
		"200": {{body: `{"seq":1,"data":{"a":1},"expect":REV}`}, {body: `{"id":"x","data_base64":"AA=="}`}},
		"404": {{body: `{"id":"unknown","data":1}`}},
		"409": {{body: `{"seq":1,"data":1,"expect":99}`}},
	},
	"removeMessage": {
		"200": {{body: `{"seq":1,"expect":REV}`}, {body: `{"id":"unknown"}`}},
		"409": {{body: `{"seq":1,"expect":99}`}},
	},
	"replaceMessages": {
		"200": {{body: `{"from":2,"messages":[{"id":"z","data":1}],"expect":REV}`}},
		"404": {{body: `{"from":2}`, path: "/v1/sessions/absent/replace"}},
		"409": {{body: `{"from":2,"expect":99}`}},
	},
	"readHash": {
		"200": {
			{path: "/v1/hashes/c9"}, {path: "/v1/hashes/c9", query: "limit=1&encoding=base64"},
			{path: "/v1/hashes/absent", query: "cursor=YQ&consistency=bounded&max_age_ms=100"},
		},
		"409": {{path: "/v1/hashes/a"}},
	},
	"changeHash": {
		"200": {
			{path: "/v1/hashes/c9", body: `{"id":"h1","fields":[{"name":"x","data":{"y":1}},{"name_base64":"/w==",` +
				`"data_base64":"AP8="}],"names":["z"]}`},
			{path: "/v1/hashes/c9", body: `{"expect":0,"fields":[{"name":"x","data":1}],"names_base64":["/w=="]}`,
				shows: func(d *testServer) {
					d.ok("PATCH", "/v1/hashes/c9", `{"names":["x","\u0000"],"names_base64":["/w=="]}`)
				}},
		},
		"409": {{path: "/v1/hashes/a", body: `{"fields":[{"name":"x","data":1}]}`}},
	},
	"commitTransaction": {
		"200": {
			{body: `{"id":"t1","conditions":[{"key":"a","revision":REV},{"key":"a","exists":true},{"key":"b1","last_seq":0}],` +
				`"steps":[{"append":{"key":"a","messages":[{"id":"t","data":1}],"ttl_ms":60000}},` +
				`{"set_metadata":{"key":"a","metadata":{"k":"v","gone":null}}},{"trim":{"key":"a","keep_last":2}},` +
				`{"expire":{"key":"a","never":true}},{"clear":{"key_base64":"YQ=="}},{"delete":{"key":"absent"}},` +
				`{"set_fields":{"key":"c1","fields":[{"name":"x","data":{"y":1}},{"name_base64":"/w==","data_base64":"AP8="}]}},` +
				`{"remove_fields":{"key":"c1","names":["z"],"names_base64":["/w=="]}}]}`},
			{body: `{"conditions":[{"key_base64":"YQ==","exists":true}],"steps":[` +
				`{"append":{"key_base64":"YQ==","messages":[{"data":1}],"metadata":{"k":"w"}}},` +
				`{"set_metadata":{"key_base64":"YQ==","metadata":{}}},{"trim":{"key_base64":"YQ==","before":1}},` +
				`{"expire":{"key_base64":"YQ==","ttl_ms":9000,"slide":true}},{"expire":{"key":"a","at":4000000000000}},` +
				`{"set_fields":{"key_base64":"YzE=","fields":[{"name":"x","data":1}]}},` +
				`{"remove_fields":{"key_base64":"YzE=","names":["x"]}}]}`},
			{body: `{"steps":[{"edit":{"key":"a","seq":1,"data":2}},` +
				`{"edit":{"key_base64":"YQ==","id":"x","data_base64":"AP8="}},{"remove":{"key":"a","id":"x"}},` +
				`{"remove":{"key_base64":"YQ==","seq":1}},{"replace":{"key":"a","from":2,"messages":[{"data":3}]}},` +
				`{"replace":{"key_base64":"YQ==","from":9}},{"retain":{"key":"a","messages":3}},` +
				`{"retain":{"key_base64":"YQ==","all":true}},{"pop":{"key_base64":"cDI="}},{"retain":{"key":"p3","turns":2}}]}`},
			{body: `{"steps":[{"pop":{"key":"a","count":2,"from":"head"}}]}`},
			{body: `{"steps":[{"rename":{"key":"a","to":"p4","replace":true}}]}`},
			{body: `{"steps":[{"rename":{"key_base64":"YQ==","to_base64":"cDM="}}]}`},
		},
		"413": {{body: `{"steps":[{"clear":{"key":"` + strings.Repeat("k", 513) + `"}}]}`}},
		"409": {
			{body: `{"conditions":[{"key":"a","exists":false}],"steps":[{"clear":{"key":"a"}}]}`},
			{body: `{"steps":[{"clear":{"key":"a"}},{"set_fields":{"key":"a","fields":[{"name":"x","data":1}]}}]}`},
		},
	},
	"clearMessages": {
		"200": {{body: `{"expect":REV}`}, {}},
		"409": {{body: `{"expect":99}`}},
	},
	"forkSession": {
		"200": {{body: `{"to":"b","at":1,"expect":REV}`}, {body: `{"to_base64":"Yw=="}`}},
		"404": {{body: `{"to":"b"}`, path: "/v1/sessions/absent/fork"}},
		"409": {{body: `{"to":"b","expect":99}`}},
	},
	"renameSession": {
		"200": {{body: `{"to":"b","expect":REV}`}, {body: `{"to_base64":"Yw==","replace":true}`}},
		"404": {{body: `{"to":"b"}`, path: "/v1/sessions/absent/rename"}},
		"409": {{body: `{"to":"b","expect":99}`}},
	},
	"expireSession": {
		"200": {{body: `{"ttl_ms":5000,"slide":true,"expect":REV}`}, {body: `{"at":1800000000000}`},
			{body: `{"never":true}`}},
		"409": {{body: `{"never":true,"expect":99}`}},
	},
	"getSession": {
		"200": {{query: "consistency=bounded&max_age_ms=100"}, {path: "/v1/sessions/%FF"}},
		"404": {{path: "/v1/sessions/absent"}},
	},
	"patchSession": {
		"200": {{body: `{"metadata":{"a":"b","c":null},"expect":REV}`}},
		"409": {{body: `{"metadata":{},"expect":99}`}},
	},
	"deleteSession": {
		"200": {{query: "expect=REV"}},
		"409": {{query: "expect=99"}},
	},
	"listSessions": {
		"200": {{query: "prefix=&cursor=&limit=10&consistency=bounded&max_age_ms=1"},
			{query: "label=user=u1&label=kind=chat&limit=10"}},
		"413": {{query: "prefix=" + strings.Repeat("k", 513)}},
	},
	"deleteSessions": {
		"200": {{query: "prefix=&all=true"}},
		"413": {{query: "prefix=" + strings.Repeat("k", 513)}},
	},
	"getCluster":      {"200": {{}}},
	"checksumCluster": {"200": {{}, {body: `{}`}}},
	"backupNode": {"200": {{}},
		"503": {{shows: func(d *testServer) { d.admin.fault = turn.Errorf(turn.Overloaded, "another one is taken") }}},
		"500": {{shows: func(d *testServer) { d.admin.fault = turn.Errorf(turn.Internal, "a defect") }}}},
	"snapshotNode":   {"200": {{}}},
	"getLive":        {"200": {{}}},
	"getMetrics":     {"200": {{}}},
	"getDescription": {"200": {{}}},
	"getReady": {"200": {{}},
		"503": {{shows: func(d *testServer) { d.node.notReady.Store(&[]string{"no leader"}) }}}},
	"transferLeadership": {
		"200": {{}},
	},
	"addNode": {"200": {{body: `{"id":"n4","raft_addr":"127.0.0.1:7"}`},
		{body: `{"id":"n4","raft_addr":"127.0.0.1:7","learner":true}`}}},
	"promoteNode": {
		"200": {{body: `{"id":"n4"}`}},
		"404": {{body: `{"id":"n9"}`, shows: fault(turn.NotFound)}},
	},
	"demoteNode": {
		"200": {{body: `{"id":"n4"}`}},
		"404": {{body: `{"id":"n9"}`, shows: fault(turn.NotFound)}},
	},
	"removeNode": {
		"200": {{query: "id=n4"}},
		"404": {{query: "id=n9", shows: fault(turn.NotFound)}},
	},
}

// fault makes the engine fail.
func fault(k turn.Kind) func(*testServer) {
	return func(d *testServer) {
		err := turn.Errorf(k, "as it were")
		failWith(&d.node.writeFault, err)
		failWith(&d.node.readFault, err)
		d.admin.fault = err
	}
}

// general has the examples that any operation can show.
var general = map[string]example{
	"400": {query: "no_such_parameter=1"},
	"401": {users: true},
	"403": {users: true, headers: []string{bearer("norights")}},
	"409": {shows: fault(turn.WrongType)},
	"413": {body: strings.Repeat(" ", smallBody+1)},
	"500": {shows: fault(turn.Corrupt)},
	"503": {shows: fault(turn.Unavailable)},
	"504": {shows: fault(turn.Unknown)},
	"507": {shows: fault(turn.ReadOnly)},
}

// examplesOf returns the requests that show a status of an operation.
func (s *spec) examplesOf(op operation, status string) []example {
	if own := examples[op.id][status]; own != nil {
		return own
	}
	e, ok := general[status]
	if !ok {
		return nil
	}
	if status == "413" && strings.Contains(op.path, "{key}") {
		e = example{path: strings.Replace(op.path, "{key}", strings.Repeat("k", 513), 1)}
	}
	success := examples[op.id]["200"][0]
	if e.body == "" {
		e.body = success.body
	}
	if e.query == "" {
		e.query = success.query
	}
	return []example{e}
}

// Each documented status of each operation is brought about, and what comes is
// as documented: the media type, every field, no field besides. Every
// documented field of a request or a response occurs somewhere.
func TestDocumentIsTrue(t *testing.T) {
	s := loadSpec(t)
	for _, op := range s.operations() {
		for status := range op.object["responses"].(object) {
			list := s.examplesOf(op, status)
			if list == nil {
				t.Errorf("%s: no example shows status %s", op.id, status)
			}
			for _, e := range list {
				t.Run(op.id+"/"+status, func(t *testing.T) { s.try(t, op, status, e) })
			}
		}
	}
	for _, op := range s.operations() {
		missing := s.unseen(s.requestSchema(op), op.id+" request")
		for status := range op.object["responses"].(object) {
			_, schema := s.response(op, status)
			missing = append(missing, s.unseen(schema, op.id+" "+status)...)
		}
		slices.Sort(missing)
		if missing = slices.Compact(missing); len(missing) > 0 {
			t.Errorf("%s: documented fields that did not occur: %v", op.id, missing)
		}
	}
}

func (s *spec) try(t *testing.T, op operation, status string, e example) {
	d := startServer(t)
	d.seed()
	rev := fmt.Sprint(d.ok("GET", "/v1/sessions/a", "")["revision"])
	path := e.path
	if path == "" {
		path = strings.Replace(op.path, "{key}", "a", 1)
	}
	if e.query != "" {
		path += "?" + strings.ReplaceAll(e.query, "REV", rev)
	}
	body := strings.ReplaceAll(e.body, "REV", rev)
	if e.shows != nil {
		e.shows(d)
	}
	if e.users {
		d.server.cfg.Users = testUsers(t)
	}
	if op.id == "streamMessages" && status == "200" {
		if first := d.tail(path, e.headers...).next(); first.name != "reset" {
			t.Errorf("first event: %+v", first)
		}
		return
	}
	a := d.do(op.method, path, body, e.headers...)
	if fmt.Sprint(a.status) != status {
		t.Fatalf("%s %.200s %.200s: status %d %.300s; want %s", op.method, path, body, a.status, a.body, status)
	}
	mediaType, schema := s.response(op, status)
	if got, _, _ := strings.Cut(a.header.Get("Content-Type"), ";"); got != mediaType {
		t.Errorf("content type %s, want %s", got, mediaType)
	}
	if mediaType != "application/json" {
		return
	}
	if err := s.check(schema, op.id+" "+status, decodeJSON(t, a.body)); err != nil {
		t.Errorf("response: %v", err)
	}
	if status == "200" && body != "" {
		if err := s.check(s.requestSchema(op), op.id+" request", decodeJSON(t, body)); err != nil {
			t.Errorf("request: %v", err)
		}
	}
}

// seed fills the store so that every field of a response has a reason to occur.
func (d *testServer) seed() {
	d.ok("POST", "/v1/sessions/a/messages",
		`{"messages":[{"id":"x","data":{"n":1}},{"data_base64":"/w=="},{"data":3},{"data":4}],"ttl_ms":100000}`)
	d.ok("PATCH", "/v1/sessions/a", `{"metadata":{"a":"b"}}`)
	key := turn.Key{Namespace: "0", Name: "\xff"}
	for _, op := range []turn.Op{
		&turn.Append{Key: key, Messages: []turn.NewMessage{{ID: "\xff", Data: []byte("{")}}},
		&turn.SetMetadata{Key: key, Set: map[string]string{"\xff": "x"}},
		&turn.SetFields{Key: turn.Key{Namespace: "0", Name: "c9"}, Type: turn.TypeHash,
			Fields: []turn.Field{{Name: "x", Value: []byte("1")}, {Name: "\xff", Value: []byte("{")}}},
	} {
		if _, err := d.node.Apply(d.t.Context(), op); err != nil {
			d.t.Fatal(err)
		}
	}
}

// The schema checker itself finds what it is meant to find.
func TestSchemaChecker(t *testing.T) {
	s := loadSpec(t)
	ref := object{"$ref": "#/components/schemas/Removed"}
	for text, ok := range map[string]bool{
		`{"removed":1,"count":2,"revision":3}`:          true,
		`{"removed":1,"count":2}`:                       false,
		`{"removed":1,"count":2,"revision":"3"}`:        false,
		`{"removed":1,"count":2,"revision":3,"more":1}`: false,
		`[]`: false,
	} {
		if err := s.check(ref, "", decodeJSON(t, text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
