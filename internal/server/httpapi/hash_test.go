package httpapi

import "testing"

// A hash is changed field by field, read in pages, and is the one that transactions change.
func TestHash(t *testing.T) {
	d := startServer(t)
	set := d.ok("PATCH", "/v1/hashes/h", `{"id":"1","expect":0,"fields":[{"name":"a","data":{"x": 1}},`+
		`{"name":"b","data":"t"},{"name":"c","data_base64":"AP8="}]}`)
	if set["added"] != 3.0 || set["count"] != 3.0 || set["duplicate"] != false {
		t.Errorf("set: %v", set)
	}
	page := d.ok("GET", "/v1/hashes/h?limit=2", "")
	fields := page["fields"].([]any)
	if len(fields) != 2 || fields[0].(map[string]any)["name"] != "a" || page["count"] != 3.0 || page["cursor"] == "" {
		t.Errorf("the first page: %v", page)
	}
	rest := d.ok("GET", "/v1/hashes/h?cursor="+page["cursor"].(string), "")
	if fields = rest["fields"].([]any); len(fields) != 1 || fields[0].(map[string]any)["data_base64"] != "AP8=" ||
		rest["cursor"] != "" {
		t.Errorf("the rest: %v", rest)
	}
	changed := d.ok("PATCH", "/v1/hashes/h", `{"names":["a","none"],"fields":[{"name":"b","data":2}]}`)
	if changed["removed"] != 1.0 || changed["added"] != 0.0 || changed["count"] != 2.0 {
		t.Errorf("changed: %v", changed)
	}
	d.fails(409, "CONFLICT", "PATCH", "/v1/hashes/h", `{"expect":0,"fields":[{"name":"b","data":3}]}`)
	d.fails(400, "INVALID", "PATCH", "/v1/hashes/h", `{}`)
	d.fails(400, "INVALID", "PATCH", "/v1/hashes/h", `{"fields":[{"name":"b"}]}`)
	d.ok("POST", "/v1/transactions", `{"steps":[{"remove_fields":{"key":"h","names":["b","c"]}}]}`)
	if gone := d.ok("GET", "/v1/hashes/h", ""); len(gone["fields"].([]any)) != 0 || gone["revision"] != 0.0 {
		t.Errorf("without fields: %v", gone)
	}
}

// The one of two transactions whose condition does not hold changes nothing; what is sent again is
// answered as before.
func TestTransaction(t *testing.T) {
	d := startServer(t)
	const body = `{"id":"t1","conditions":[{"key":"s","exists":false}],"steps":[` +
		`{"append":{"key":"s","messages":[{"data":1},{"data":2}],"metadata":{"k":"v"}}},` +
		`{"set_fields":{"key":"h","fields":[{"name":"f","data":1}]}}]}`
	first := d.ok("POST", "/v1/ns/0/transactions", body)
	if steps := first["steps"].([]any); steps[0].(map[string]any)["last_seq"] != 2.0 ||
		steps[1].(map[string]any)["added"] != 1.0 || first["duplicate"] != false {
		t.Errorf("first: %v", first)
	}
	again := d.ok("POST", "/v1/transactions", body)
	if again["duplicate"] != true || again["revision"] != first["revision"] {
		t.Errorf("again: %v", again)
	}
	a := d.do("POST", "/v1/transactions", `{"conditions":[{"key":"h","exists":true},{"key":"s","last_seq":1}],`+
		`"steps":[{"clear":{"key":"s"}},{"delete":{"key":"h"}}]}`)
	body409 := decodeJSON(t, a.body).(map[string]any)["error"].(map[string]any)
	if a.status != 409 || body409["condition"] != 2.0 || body409["revision"] == nil {
		t.Errorf("a condition that does not hold: %d %v", a.status, body409)
	}
	d.fails(409, "WRONG_TYPE", "POST", "/v1/transactions",
		`{"steps":[{"delete":{"key":"h"}},{"set_fields":{"key":"s","fields":[{"name":"f","data":1}]}}]}`)
	d.fails(409, "ID_REUSED", "POST", "/v1/transactions", `{"id":"t1","steps":[{"clear":{"key":"s"}},{"delete":{"key":"h"}}]}`)
	d.fails(400, "INVALID", "POST", "/v1/transactions", `{"steps":[{"clear":{"key":"s"},"delete":{"key":"s"}}]}`)
	d.fails(400, "INVALID", "POST", "/v1/transactions", `{"steps":[{"clear":{"key":"s","expect":1}}]}`)
	if s := d.ok("GET", "/v1/sessions/s/messages?metadata=true", ""); s["count"] != 2.0 ||
		s["metadata"].(map[string]any)["k"] != "v" {
		t.Errorf("after all: %v", s)
	}
}
