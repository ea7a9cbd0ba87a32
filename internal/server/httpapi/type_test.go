package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// What Redis clients keep under a key as another type is no session.
func TestValueOfAnotherTypeIsNoSession(t *testing.T) {
	d := startServer(t)
	k := turn.Key{Namespace: turn.DefaultNamespace, Name: "h"}
	if _, err := d.node.Apply(t.Context(), &turn.SetString{Key: k, Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for path, status := range map[string]int{
		"/v1/sessions/h":          http.StatusNotFound,
		"/v1/sessions/h/messages": http.StatusConflict,
	} {
		got := d.do("GET", path, "")
		if got.status != status || !strings.Contains(got.body, "string") {
			t.Errorf("GET %s: %d %s, want %d", path, got.status, got.body, status)
		}
	}
}
