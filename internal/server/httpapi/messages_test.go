package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

func TestPayloadsComeBackByteForByte(t *testing.T) {
	d := startServer(t)
	big := `{"content":"` + strings.Repeat(`a<b>&\u2028é`, 20_000) + `"}`
	payloads := []string{
		`{}`, `null`, `0`, `"<script>&amp;\u003c"`, "\"\u2028\u2029\x7f\"", `{ "b" : 1 , "a":[ ],"a":1.0e+00}`,
		"[1,\n\t2,\r\n3]",
		`18446744073709551616.000`, `"\ud800\udfff"`, `"\ud800"`, `"\/"`, big,
	}
	d.append("a", payloads...)
	body := d.do("GET", "/v1/sessions/a/messages", "").body
	var m struct {
		Messages []struct {
			Data json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	for i, p := range payloads {
		if got := string(m.Messages[i].Data); got != p {
			t.Errorf("payload %d: %.100q, want %.100q", i, got, p)
		}
	}
	body = d.do("GET", "/v1/sessions/a/messages?encoding=base64", "").body
	if strings.Contains(body, `"data":`) ||
		!strings.Contains(body, `"data_base64":"`+base64.StdEncoding.EncodeToString([]byte(big))+`"`) {
		t.Errorf("with encoding=base64: %.300s", body)
	}
}

// A payload that is not plain JSON comes back as base64.
func TestOtherPayloadsComeBackAsBase64(t *testing.T) {
	d := startServer(t)
	payloads := []string{
		"", " ", "{", "hello", "1 2", " 1", "1\n", "\ufeff1", "\"\xff\"", "\x00", "NaN", strings.Repeat("\xff", 50_000),
		strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999),
	}
	var ms []turn.NewMessage
	for _, p := range payloads {
		ms = append(ms, turn.NewMessage{Data: []byte(p)})
	}
	if _, err := d.node.Apply(t.Context(),
		&turn.Append{Key: turn.Key{Namespace: "0", Name: "a"}, Messages: ms}); err != nil {
		t.Fatal(err)
	}
	got := d.ok("GET", "/v1/sessions/a/messages", "")["messages"].([]any)
	for i, p := range payloads {
		m := got[i].(map[string]any)
		b64, _ := m["data_base64"].(string)
		if b, err := base64.StdEncoding.DecodeString(b64); err != nil || string(b) != p || m["data"] != nil {
			t.Errorf("payload %.20q: %.100v", p, m)
		}
	}
	// And goes in again as such.
	for _, m := range got {
		d.ok("POST", "/v1/sessions/b/messages",
			fmt.Sprintf(`{"messages":[{"data_base64":%q}]}`, m.(map[string]any)["data_base64"]))
	}
}

func TestAppend(t *testing.T) {
	d := startServer(t)
	const path = "/v1/sessions/a/messages"
	first := d.ok("POST", path, `{"messages":[{"id":"x","data":1},{"id":"y","data":2}]}`)
	if first["first_seq"] != 1.0 || first["last_seq"] != 2.0 || first["duplicate"] != false || first["count"] != 2.0 {
		t.Errorf("first append: %v", first)
	}
	again := d.ok("POST", path, `{"messages":[{"id":"x","data":1},{"id":"y","data":2}]}`)
	if again["first_seq"] != 1.0 || again["last_seq"] != 2.0 || again["duplicate"] != true ||
		again["revision"] != first["revision"] {
		t.Errorf("again: %v", again)
	}
	d.fails(409, "ID_REUSED", "POST", path, `{"messages":[{"id":"x","data":7}]}`)
	d.fails(409, "CONFLICT", "POST", path, `{"messages":[{"id":"y","data":2},{"id":"z","data":3}]}`)
	e := d.fails(409, "CONFLICT", "POST", path, `{"messages":[{"data":3}],"expect":0}`)
	if e.Revision == nil || float64(*e.Revision) != first["revision"] || e.Outcome != "not_applied" || e.Retry {
		t.Errorf("conflict: %+v, want revision %v", e, first["revision"])
	}
	d.ok("POST", path, fmt.Sprintf(`{"messages":[{"data":3}],"expect":%v,"ttl_ms":60000}`, first["revision"]))
	if got := d.ok("GET", "/v1/sessions/a", "")["expires_at"]; got != float64(testEpoch+60_000) {
		t.Errorf("expires_at %v", got)
	}
	e = d.fails(409, "CONFLICT", "POST", "/v1/sessions/new/messages", `{"messages":[{"data":3}],"expect":5}`)
	if e.Revision == nil || *e.Revision != 0 {
		t.Errorf("conflict on no session: %+v", e)
	}
	d.fails(400, "INVALID", "POST", path, `{"messages":[]}`)
	d.fails(400, "INVALID", "POST", path, ``)
	d.fails(400, "INVALID", "POST", path, `{"messages":[{"id":"q","data":1},{"id":"q","data":1}]}`)
	d.fails(413, "TOO_LARGE", "POST", path, `{"messages":[{"id":"`+strings.Repeat("i", 65)+`","data":1}]}`)
	d.fails(400, "INVALID", "POST", path, `{"messages":[{"data":1}]}`, "Content-Encoding: gzip")
	d.fails(400, "INVALID", "POST", path+"?expect=1", `{"messages":[{"data":1}]}`)
	if got := d.ok("GET", path, "")["count"]; got != 3.0 {
		t.Errorf("%v messages after refusals, want 3", got)
	}
}

func TestReadPlaces(t *testing.T) {
	d := startServer(t)
	for i := range 10 {
		d.append("a", fmt.Sprint(i+1))
	}
	d.ok("POST", "/v1/sessions/a/trim", `{"before":3}`)
	for query, want := range map[string]string{
		"":                                   "3 4 5 6 7 8 9 10",
		"?last=2":                            "9 10 more",
		"?last=8":                            "3 4 5 6 7 8 9 10",
		"?last=9007199254740992":             "3 4 5 6 7 8 9 10",
		"?after=0&limit=2":                   "3 4 more",
		"?after=4":                           "5 6 7 8 9 10",
		"?after=9&limit=1":                   "10",
		"?after=10":                          "",
		"?after=9007199254740992":            "",
		"?before=6&limit=2":                  "4 5 more",
		"?before=0":                          "",
		"?before=4":                          "3",
		"?max_bytes=1":                       "10 more",
		"?after=0&max_tokens=1":              "3 4 5 6 more",
		"?last=3&max_bytes=2":                "10 more",
		"?before=9007199254740992&limit=1":   "10 more",
		"?last=1&consistency=stale":          "10 more",
		"?last=1&consistency=linearizable":   "10 more",
		"?consistency=bounded&max_age_ms=50": "3 4 5 6 7 8 9 10",
	} {
		m := d.ok("GET", "/v1/sessions/a/messages"+query, "")
		var got []string
		for _, x := range m["messages"].([]any) {
			got = append(got, fmt.Sprint(x.(map[string]any)["seq"]))
		}
		if m["more"] == true {
			got = append(got, "more")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
		if m["first_seq"] != 3.0 || m["last_seq"] != 10.0 || m["count"] != 8.0 || m["revision"] == 0.0 {
			t.Errorf("%s: the session is described as %v", query, m)
		}
	}
	m := d.ok("GET", "/v1/sessions/absent/messages", "")
	if len(m["messages"].([]any)) != 0 || m["revision"] != 0.0 || m["count"] != 0.0 || m["more"] != false {
		t.Errorf("a session that does not exist: %v", m)
	}
}

func TestReadsByTimeAndWhole(t *testing.T) {
	d := startServer(t)
	d.ok("POST", "/v1/sessions/a/messages", `{"messages":[{"data":{"tool_calls":[{"id":"x"}]}},
		{"data":{"tool_call_id":"x"}},{"data":{"content":"done"}}]}`)
	first := d.ok("GET", "/v1/sessions/a/messages?last=3", "")["messages"].([]any)[0].(map[string]any)
	at := int64(first["time"].(float64))
	for query, want := range map[string]int{
		"last=2": 2, "last=2&whole=true": 1, "last=2&whole=false": 2, "last=3&whole=true": 3,
		fmt.Sprint("since=", at): 3, fmt.Sprint("since=", at+1): 0, fmt.Sprint("until=", at): 0,
		fmt.Sprint("since=", at, "&until=", at+1): 3, fmt.Sprint("until=", at+1, "&last=1"): 1,
		fmt.Sprint("after=1&since=", at): 2, fmt.Sprint("before=2&since=", at): 1,
	} {
		if got := len(d.ok("GET", "/v1/sessions/a/messages?"+query, "")["messages"].([]any)); got != want {
			t.Errorf("%s: %d messages instead of %d", query, got, want)
		}
	}
	for _, query := range []string{"whole=yes", "since=0", "until=x", "since=1&since=2"} {
		d.fails(400, "INVALID", "GET", "/v1/sessions/a/messages?"+query, "")
	}
}

func TestReadParametersAreStrict(t *testing.T) {
	d := startServer(t)
	for _, query := range []string{
		"last=0", "last=-1", "last=x", "last=", "last=1.5", "last=9007199254740993", "last=1&last=2", "last=1&after=1",
		"after=1&before=2",
		"limit=5", "last=1&limit=5", "after=1&limit=0", "after=-1", "max_bytes=0", "max_tokens=-3", "lsat=1", "Last=1",
		"last=%zz", "last=1;a=2",
		"encoding=hex", "encoding=", "consistency=strong", "consistency=bounded", "max_age_ms=5",
		"consistency=stale&max_age_ms=5",
		"consistency=bounded&max_age_ms=0", "consistency=bounded&max_age_ms=86400001",
	} {
		d.fails(400, "INVALID", "GET", "/v1/sessions/a/messages?"+query, "")
	}
}

func TestConsistencyReachesTheEngine(t *testing.T) {
	d := startServer(t)
	for query, want := range map[string]turn.Consistency{
		"":                                     {Level: turn.Linearizable},
		"?consistency=stale":                   {Level: turn.Stale},
		"?consistency=bounded&max_age_ms=1500": {Level: turn.Bounded, MaxAge: 1500 * time.Millisecond},
	} {
		for _, path := range []string{"/v1/sessions/a/messages", "/v1/sessions"} {
			m := d.ok("GET", path+query, "")
			if got := *d.node.consistency.Load(); got != want {
				t.Errorf("%s%s: %+v, want %+v", path, query, got, want)
			}
			if label := m["consistency"]; label == "" || !strings.Contains(query+linearizable, label.(string)) {
				t.Errorf("%s%s: labelled %v", path, query, label)
			}
		}
	}
}

// A budget does not part a tool call from its result.
func TestReadKeepsToolCallsWhole(t *testing.T) {
	d := startServer(t)
	d.append("a", `"hello"`, `{"role":"assistant","tool_calls":[{"id":"c1"}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"7"}`, `"bye"`)
	m := d.ok("GET", "/v1/sessions/a/messages?max_bytes=60", "")
	if got := m["messages"].([]any); len(got) != 1 || got[0].(map[string]any)["data"] != "bye" || m["more"] != true {
		t.Errorf("got %v", m)
	}
}

func TestBodyLimits(t *testing.T) {
	d := startServer(t)
	d.node.limits.MessageBytes, d.node.limits.AppendBytes = 3<<20, 3<<20
	message := func(n int) string {
		return `{"messages":[{"data":"` + strings.Repeat("x", n-2) + `"}]}`
	}
	d.ok("POST", "/v1/sessions/a/messages", message(3<<20))
	d.fails(413, "TOO_LARGE", "POST", "/v1/sessions/a/messages", message(3<<20+1))
	d.ok("POST", "/v1/sessions/a/messages", `{"messages":[{"data_base64":"`+strings.Repeat("AAAA", 1<<20)+`"}]}`)
	for _, tt := range []struct {
		n, length int64 // as sent, and as announced; -1: not announced
		expect    string
	}{
		{int64(appendBody(d.node.limits)) + 1, int64(appendBody(d.node.limits)) + 1, ""},
		{64 << 20, 64 << 20, ""},
		{64 << 20, -1, ""},
		{64 << 20, 1 << 40, "100-continue"},
	} {
		req, _ := http.NewRequest("POST", "http://"+d.addr+"/v1/sessions/a/messages", io.LimitReader(blanks{}, tt.n))
		req.ContentLength = tt.length
		req.Header.Set("Expect", tt.expect)
		resp, err := d.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 413 {
			t.Errorf("a body of %d bytes: %d", tt.n, resp.StatusCode)
		}
	}
	d.fails(413, "TOO_LARGE", "PATCH", "/v1/sessions/a", `{"metadata":{"a":"`+strings.Repeat("x", smallBody)+`"}}`)
	d.fails(413, "TOO_LARGE", "PATCH", "/v1/sessions/a", `{"metadata":{"a":"`+strings.Repeat("x", 20<<10)+`"}}`)
}

type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}
