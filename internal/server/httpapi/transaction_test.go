package httpapi

import (
	"regexp"
	"strings"
	"testing"
)

// Steps on messages answer as their endpoints do, with payloads byte for byte.
func TestTransactionOfStepsOnMessages(t *testing.T) {
	d := startServer(t)
	d.ok("POST", "/v1/sessions/s/messages", `{"messages":[{"id":"a","data":{"x": [1,  2]}},{"id":"b","data":2},`+
		`{"id":"c","data":3}]}`)
	d.ok("POST", "/v1/sessions/t/messages", `{"messages":[{"id":"a","data":{"x": [1,  2]}},{"data":2}]}`)
	d.ok("POST", "/v1/sessions/old/messages", `{"messages":[{"data":1}]}`)
	const body = `{"id":"t1","steps":[{"edit":{"key":"s","id":"a","data":10}},{"remove":{"key":"s","seq":2}},` +
		`{"replace":{"key":"s","from":3,"messages":[{"data":4}]}},{"pop":{"key":"t","count":9,"from":"head"}},` +
		`{"retain":{"key":"t","turns":2}},{"rename":{"key":"old","to":"new"}}]}`
	d.fails(400, "INVALID", "POST", "/v1/transactions", body) // the retention by turns comes behind the pop
	good := strings.Replace(body, `"turns"`, `"messages"`, 1)
	const want = `{"revision":13,"duplicate":%s,"steps":[{"seq":1,"count":3,"revision":7}` + "\n" +
		`,{"removed":1,"count":2,"revision":8}` + "\n" +
		`,{"first_seq":4,"last_seq":4,"revision":9,"duplicate":false,"count":2,"removed":1}` + "\n" +
		`,{"messages":[{"seq":1,"time":%s,"id":"a","data":{"x": [1,  2]}},{"seq":2,"time":%s,"id":"","data":2}],` +
		`"count":0,"revision":10}` + "\n" +
		`,{"removed":0,"count":0,"revision":11}` + "\n" + `,{"count":1,"revision":12}` + "\n]}\n"
	times := regexp.MustCompile(`"(time|revision)":[0-9]+`)
	plain := func(s string) string { return times.ReplaceAllString(strings.ReplaceAll(s, "%s", "0"), "") }
	if a := d.do("POST", "/v1/transactions", good); a.status != 200 ||
		plain(string(a.body)) != plain(strings.Replace(want, "%s", "false", 1)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	again := d.ok("POST", "/v1/transactions?encoding=base64", good)
	popped := again["steps"].([]any)[3].(map[string]any)["messages"].([]any)[0].(map[string]any)
	if again["duplicate"] != true || popped["data_base64"] != "eyJ4IjogWzEsICAyXX0=" {
		t.Errorf("again: %v", again)
	}
	if s := d.ok("GET", "/v1/sessions/new", ""); s["count"] != 1.0 {
		t.Errorf("renamed: %v", s)
	}
	d.fails(404, "NOT_FOUND", "POST", "/v1/transactions", `{"steps":[{"edit":{"key":"s","id":"none","data":1}}]}`)
	d.fails(400, "INVALID", "POST", "/v1/transactions", `{"steps":[{"edit":{"key":"s","id":"a"}}]}`)
	d.fails(400, "INVALID", "POST", "/v1/transactions", `{"steps":[{"rename":{"key":"s","to":"x"}},{"clear":{"key":"x"}}]}`)
}
