package bench

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEtcdLeads(t *testing.T) {
	for _, tt := range []struct {
		status     string
		leads, bad bool
	}{
		{status: `{"header":{"member_id":"18446744073709551615"},"leader":"18446744073709551615"}`, leads: true},
		{status: `{"header":{"member_id":"7"},"leader":"8"}`},
		{status: `{"header":{"member_id":"7"},"leader":"0"}`, bad: true},
		{status: `{"header":{"member_id":"7"}}`, bad: true},
		{status: `Not Found`, bad: true},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path == "/v3/maintenance/status" {
				io.WriteString(w, tt.status)
			}
		}))
		leads, err := etcdLeads(t.Context(), s.Listener.Addr().String())
		if leads != tt.leads || (err != nil) != tt.bad {
			t.Errorf("%s: %v, %v", tt.status, leads, err)
		}
		s.Close()
	}
}

// The page judges turnlog against etcd and says what its client took, or that it
// was not measured.
func TestEtcdInReport(t *testing.T) {
	s := &Series{Workload: "append", Clients: 64, Names: []string{ViaLeader, Etcd},
		Results: [][]Result{{{PerSecond: 900, Operations: 1, Generator: 0.125}},
			{{PerSecond: 100, Operations: 1, Generator: 1.75}}}}
	page := func(all ...*Series) string {
		var b bytes.Buffer
		r := Report{Series: all, Verdicts: Judge(all), Others: "etcd 9"}
		if err := r.Markdown(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, part := range []string{"≥ 5 × etcd, 3 nodes | 9.00 | met |", "With 64 clients this generator takes 1.75 s",
		"takes 0.12 s", "| compared with | etcd 9 |"} {
		if text := page(s); !strings.Contains(text, part) {
			t.Errorf("no %q:\n%s", part, text)
		}
	}
	without := &Series{Workload: "append", Clients: 64, Names: s.Names[:1], Results: s.Results[:1]}
	if text := page(without); !strings.Contains(text, "etcd was not measured") || strings.Contains(text, "× etcd") {
		t.Errorf("a page without etcd:\n%s", text)
	}
}
