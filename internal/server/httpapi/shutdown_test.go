package httpapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// Clients with TLS that read nothing any more hold up neither each other nor the end of the server
// one after the other: each has to be told that its connection ends.
func TestShutdownDoesNotWaitForEachClient(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	certificates := s.TLS.Certificates
	s.Close()
	node := newTestNode(t)
	synctest.Test(t, func(t *testing.T) {
		const clients = 10
		srv, err := New(Config{Engine: node, TLS: &tls.Config{Certificates: certificates}})
		if err != nil {
			t.Fatal(err)
		}
		l := listenPipes()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- srv.Serve(ctx, l) }()
		for range clients {
			conn := l.connect()
			defer conn.Close()
			c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			r, err := http.NewRequest(http.MethodGet, "https://127.0.0.1/livez", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Write(c); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		synctest.Wait() // all connections are idle
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 8*time.Second { // TLS waits five for each
			t.Errorf("the server ends after %v", took)
		}
	})
}
