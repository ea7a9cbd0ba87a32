package httpapi

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestPopTrimReplaceClear(t *testing.T) {
	d := startServer(t)
	d.append("a", "1", "2", "3", "4", "5", "6", "7", "8")
	pop := d.ok("POST", "/v1/sessions/a/pop", "")
	if ms := pop["messages"].([]any); len(ms) != 1 || ms[0].(map[string]any)["data"] != 8.0 || pop["count"] != 7.0 {
		t.Errorf("pop: %v", pop)
	}
	pop = d.ok("POST", "/v1/sessions/a/pop?encoding=base64",
		fmt.Sprintf(`{"count":2,"from":"head","expect":%v}`, pop["revision"]))
	if ms := pop["messages"].([]any); len(ms) != 2 || ms[0].(map[string]any)["data_base64"] != "MQ==" ||
		pop["count"] != 5.0 {
		t.Errorf("pop from the head: %v", pop)
	}
	trim := d.ok("POST", "/v1/sessions/a/trim", `{"keep_last":4}`)
	if trim["removed"] != 1.0 || trim["count"] != 4.0 {
		t.Errorf("trim: %v", trim)
	}
	rep := d.ok("POST", "/v1/sessions/a/replace", `{"from":6,"messages":[{"id":"s","data":"summary"}]}`)
	if rep["first_seq"] != 9.0 || rep["removed"] != 2.0 || rep["count"] != 3.0 || rep["duplicate"] != false {
		t.Errorf("replace: %v", rep)
	}
	if rep = d.ok("POST", "/v1/sessions/a/replace",
		`{"from":6,"messages":[{"id":"s","data":"summary"}]}`); rep["duplicate"] != true {
		t.Errorf("replace again: %v", rep)
	}
	d.fails(404, "NOT_FOUND", "POST", "/v1/sessions/absent/replace", `{"from":1}`)
	d.fails(409, "CONFLICT", "POST", "/v1/sessions/a/clear", `{"expect":1}`)
	if cl := d.ok("POST", "/v1/sessions/a/clear", `{}`); cl["removed"] != 3.0 || cl["count"] != 0.0 {
		t.Errorf("clear: %v", cl)
	}
	if next := d.append("a", "9"); next["first_seq"] != 10.0 {
		t.Errorf("the seq after clear is %v", next["first_seq"])
	}
	if pop := d.ok("POST", "/v1/sessions/absent/pop", `{"count":3}`); len(pop["messages"].([]any)) != 0 {
		t.Errorf("pop of nothing: %v", pop)
	}
	for call, body := range map[string]string{"trim": `{"keep_last":1}`, "clear": `{}`} {
		if gone := d.ok("POST", "/v1/sessions/absent/"+call, body); gone["removed"] != 0.0 || gone["revision"] != 0.0 {
			t.Errorf("%s of nothing: %v", call, gone)
		}
	}
}

func TestRename(t *testing.T) {
	d := startServer(t)
	d.fails(404, "NOT_FOUND", "POST", "/v1/sessions/a/rename", `{"to":"b"}`)
	d.ok("POST", "/v1/sessions/a/messages", `{"messages":[{"data":1},{"data":2}]}`)
	d.ok("POST", "/v1/sessions/b/messages", `{"messages":[{"data":3}]}`)
	d.fails(409, "EXISTS", "POST", "/v1/sessions/a/rename", `{"to":"b"}`)
	d.fails(400, "INVALID", "POST", "/v1/sessions/a/rename", `{"to":"a"}`)
	d.fails(400, "INVALID", "POST", "/v1/sessions/a/rename", `{"replace":true}`)
	if r := d.ok("POST", "/v1/sessions/a/rename", `{"to":"b","replace":true}`); r["count"] != 2.0 {
		t.Errorf("%v", r)
	}
	if r := d.ok("GET", "/v1/sessions/b", ""); r["count"] != 2.0 {
		t.Errorf("under the new key: %v", r)
	}
	d.fails(404, "NOT_FOUND", "GET", "/v1/sessions/a", "")
}

func TestForkExpireDelete(t *testing.T) {
	d := startServer(t)
	d.append("a", "1", "2", "3")
	d.ok("PATCH", "/v1/sessions/a", `{"metadata":{"owner":"x","gone":"y"}}`)
	f := d.ok("POST", "/v1/sessions/a/fork", `{"to":"b/c","at":2}`)
	if f["first_seq"] != 1.0 || f["last_seq"] != 2.0 || f["count"] != 2.0 {
		t.Errorf("fork: %v", f)
	}
	d.ok("POST", "/v1/sessions/a/fork", `{"to_base64":"/w=="}`)
	d.ok("GET", "/v1/sessions/%FF", "")
	d.fails(409, "EXISTS", "POST", "/v1/sessions/a/fork", `{"to":"b/c"}`)
	d.fails(404, "NOT_FOUND", "POST", "/v1/sessions/absent/fork", `{"to":"d"}`)
	d.fails(400, "INVALID", "POST", "/v1/sessions/a/fork", `{"to":"a"}`)

	if x := d.ok("POST", "/v1/sessions/a/expire", `{"ttl_ms":1000,"slide":true}`); x["changed"] != true {
		t.Errorf("expire: %v", x)
	}
	s := d.ok("GET", "/v1/sessions/a", "")
	if s["expires_at"] != float64(testEpoch+1000) || s["slide_ms"] != 1000.0 ||
		s["metadata"].(map[string]any)["owner"] != "x" {
		t.Errorf("session: %v", s)
	}
	for _, ms := range []string{"9223372036854775807", "18446744073709551615", "9007199254740993"} {
		d.fails(400, "INVALID", "POST", "/v1/sessions/a/expire", `{"ttl_ms":`+ms+`}`)
		d.fails(400, "INVALID", "POST", "/v1/sessions/a/messages", `{"messages":[{"data":1}],"ttl_ms":`+ms+`}`)
	}
	d.ok("POST", "/v1/sessions/a/expire", `{"never":true}`)
	if s := d.ok("GET", "/v1/sessions/a", ""); s["expires_at"] != nil || s["slide_ms"] != 0.0 {
		t.Errorf("session: %v", s)
	}
	if x := d.ok("POST", "/v1/sessions/absent/expire", `{"ttl_ms":1000}`); x["changed"] != false {
		t.Errorf("expire of nothing: %v", x)
	}
	d.ok("PATCH", "/v1/sessions/a", `{"metadata":{"gone":null,"é":"ü"}}`)
	s = d.ok("GET", "/v1/sessions/a", "")
	if m := s["metadata"].(map[string]any); len(m) != 2 || m["é"] != "ü" {
		t.Errorf("metadata: %v", m)
	}
	d.fails(409, "CONFLICT", "DELETE", "/v1/sessions/a?expect=1", "")
	if x := d.ok("DELETE", fmt.Sprintf("/v1/sessions/a?expect=%v", s["revision"]), ""); x["removed"] != 1.0 {
		t.Errorf("delete: %v", x)
	}
	if x := d.ok("DELETE", "/v1/sessions/a", ""); x["removed"] != 0.0 {
		t.Errorf("delete again: %v", x)
	}
	d.fails(404, "NOT_FOUND", "GET", "/v1/sessions/a", "")
	d.ok("POST", "/v1/sessions/b%2Fc/expire", `{"at":1}`)
	d.fails(404, "NOT_FOUND", "GET", "/v1/sessions/b%2Fc", "")
}

func TestBytesThatAreNotText(t *testing.T) {
	d := startServer(t)
	key := turn.Key{Namespace: "0", Name: "k\xff"}
	if _, err := d.node.Apply(t.Context(),
		&turn.Append{Key: key, Messages: []turn.NewMessage{{ID: "i\xff", Data: []byte("1")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.node.Apply(t.Context(),
		&turn.SetMetadata{Key: key, Set: map[string]string{"m\xff": "v", "a": "b"}}); err != nil {
		t.Fatal(err)
	}
	s := d.ok("GET", "/v1/sessions/k%FF", "")
	if s["key_base64"] != "a/8=" || s["key"] != nil || s["metadata_base64"].(map[string]any)["bf8="] != "dg==" ||
		len(s["metadata"].(map[string]any)) != 1 {
		t.Errorf("session: %v", s)
	}
	m := d.ok("GET", "/v1/sessions/k%FF/messages", "")["messages"].([]any)[0].(map[string]any)
	if m["id_base64"] != "af8=" || m["id"] != nil {
		t.Errorf("message: %v", m)
	}
}

func TestListAndDeleteByPrefix(t *testing.T) {
	d := startServer(t)
	var ops []turn.Op
	for i := range 1203 {
		ops = append(ops, &turn.SetMetadata{Key: turn.Key{Namespace: "0", Name: fmt.Sprintf("u/%04d\xff", i)}})
	}
	ops = append(ops, &turn.SetMetadata{Key: turn.Key{Namespace: "0", Name: "v"}},
		&turn.SetMetadata{Key: turn.Key{Namespace: "1", Name: "u/"}})
	for _, op := range ops {
		if _, err := d.node.Apply(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	seen, cursor := 0, ""
	for pages := 0; ; pages++ {
		m := d.ok("GET", "/v1/sessions?prefix=u%2F&limit=500&cursor="+cursor, "")
		seen += len(m["sessions"].([]any))
		cursor = m["cursor"].(string)
		if cursor == "" {
			break
		}
		if pages > 3 {
			t.Fatal("the list does not end")
		}
	}
	if seen != 1203 {
		t.Errorf("%d sessions are listed, want 1203", seen)
	}
	if m := d.ok("GET", "/v1/sessions", ""); len(m["sessions"].([]any)) != defaultPage {
		t.Errorf("a page has %d sessions", len(m["sessions"].([]any)))
	}
	d.fails(400, "INVALID", "GET", "/v1/sessions?cursor=***", "")
	d.fails(400, "INVALID", "GET", "/v1/sessions?limit=10001", "")

	d.fails(400, "INVALID", "DELETE", "/v1/sessions", "")
	d.fails(400, "INVALID", "DELETE", "/v1/sessions?all=true", "")
	d.fails(400, "INVALID", "DELETE", "/v1/sessions?prefix=", "")
	d.fails(400, "INVALID", "DELETE", "/v1/sessions?prefix=&all=yes", "")
	if x := d.ok("DELETE", "/v1/sessions?prefix=u%2F", ""); x["removed"] != 1203.0 {
		t.Errorf("delete by prefix: %v", x)
	}
	if x := d.ok("DELETE", "/v1/sessions?prefix=&all=true", ""); x["removed"] != 1.0 {
		t.Errorf("delete all: %v", x)
	}
	d.ok("GET", "/v1/ns/1/sessions/u%2F", "")
}

// One message changes, or goes; the others stay where they are, and appends are still recognised.
func TestEditAndRemove(t *testing.T) {
	d := startServer(t)
	const turns = `{"messages":[{"id":"a","data":"A"},{"id":"b","data":"B"},{"id":"c","data":"C"}]}`
	first := d.ok("POST", "/v1/sessions/s/messages", turns)
	e := d.ok("POST", "/v1/sessions/s/edit", fmt.Sprintf(`{"id":"b","data":{"x":1},"expect":%v}`, first["revision"]))
	if e["seq"] != 2.0 || e["count"] != 3.0 {
		t.Errorf("edit: %v", e)
	}
	d.fails(409, "CONFLICT", "POST", "/v1/sessions/s/edit",
		fmt.Sprintf(`{"seq":2,"data":1,"expect":%v}`, first["revision"]))
	if r := d.ok("POST", "/v1/sessions/s/remove", `{"seq":1}`); r["removed"] != 1.0 || r["count"] != 2.0 {
		t.Errorf("remove: %v", r)
	}
	if r := d.ok("POST", "/v1/sessions/s/remove", `{"id":"a"}`); r["removed"] != 0.0 || r["count"] != 2.0 {
		t.Errorf("remove, again: %v", r)
	}
	d.fails(404, "NOT_FOUND", "POST", "/v1/sessions/s/edit", `{"id":"a","data":1}`)
	d.fails(404, "NOT_FOUND", "POST", "/v1/sessions/absent/edit", `{"seq":1,"data":1}`)
	d.fails(400, "INVALID", "POST", "/v1/sessions/s/remove", `{}`)
	d.fails(400, "INVALID", "POST", "/v1/sessions/s/remove", `{"seq":2,"data":1}`)
	if again := d.ok("POST", "/v1/sessions/s/messages", turns); again["duplicate"] != true || again["last_seq"] != 3.0 {
		t.Errorf("the append, again: %v", again)
	}
	ms := d.ok("GET", "/v1/sessions/s/messages", "")["messages"].([]any)
	if len(ms) != 2 || ms[0].(map[string]any)["seq"] != 2.0 ||
		fmt.Sprint(ms[0].(map[string]any)["data"]) != "map[x:1]" ||
		ms[1].(map[string]any)["data"] != "C" {
		t.Errorf("the session holds %v", ms)
	}
}
