package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is a ResponseWriter without a connection.
type discard struct {
	io.Writer
	header http.Header
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}

func benchmarkServer(b *testing.B) *Server {
	s, err := New(Config{Engine: newTestNode(b)})
	if err != nil {
		b.Fatal(err)
	}
	for range 100 {
		s.ServeHTTP(httptest.NewRecorder(), appendRequest())
	}
	return s
}

func appendRequest() *http.Request {
	body := `{"messages":[{"data":{"role":"user","content":"` + strings.Repeat("Where is my order? ", 15) + `"}}]}`
	return httptest.NewRequest("POST", "/v1/sessions/alice/messages", strings.NewReader(body))
}

func BenchmarkRead(b *testing.B) {
	s := benchmarkServer(b)
	req := httptest.NewRequest("GET", "/v1/sessions/alice/messages?last=20", nil)
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(&discard{io.Discard, http.Header{}}, req)
	}
}

func BenchmarkAppend(b *testing.B) {
	s := benchmarkServer(b)
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(&discard{io.Discard, http.Header{}}, appendRequest())
	}
}
