package httpapi

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Sessions are listed by labels, the one that changed last first, page by page.
func TestSessionsByLabel(t *testing.T) {
	d := startServer(t)
	if _, err := d.node.Apply(t.Context(), &codec.SetLevel{Level: turn.NewestLevel}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		d.ok("POST", fmt.Sprintf("/v1/sessions/s%d/messages", i),
			fmt.Sprintf(`{"messages":[{"data":1}],"metadata":{"label.user":"u%d","label.kind":"a=b"}}`, i%2))
	}
	d.ok("POST", "/v1/sessions/s0/messages", `{"messages":[{"data":2}]}`)
	listed := func(query string) (keys []string, cursor string) {
		t.Helper()
		page := d.ok("GET", "/v1/sessions?"+query, "")
		for _, s := range page["sessions"].([]any) {
			keys = append(keys, s.(map[string]any)["key"].(string))
		}
		return keys, page["cursor"].(string)
	}
	first, cursor := listed("label=user=u0&label=kind=a%3Db&limit=2")
	rest, end := listed("label=user=u0&label=kind=a=b&limit=2&cursor=" + cursor)
	if fmt.Sprint(first, rest) != "[s0 s4] [s2]" || end != "" {
		t.Errorf("listed are %v and %v, the last cursor is %q", first, rest, end)
	}
	if keys, _ := listed("label=user=u1&prefix=s3"); fmt.Sprint(keys) != "[s3]" {
		t.Errorf("of the prefix: %v", keys)
	}
	for _, query := range []string{"label=user", "label=us%20er=x", "label=user=u1&label=user=u2",
		"label=user=u1&cursor=AA"} {
		d.fails(400, "INVALID", "GET", "/v1/sessions?"+query, "")
	}
	d.fails(400, "INVALID", "PATCH", "/v1/sessions/s0", `{"metadata":{"label.us er":"x"}}`)
	d.fails(413, "TOO_LARGE", "PATCH", "/v1/sessions/s0", `{"metadata":{"label.1":"","label.2":"","label.3":"",`+
		`"label.4":"","label.5":"","label.6":"","label.7":""}}`)
}
