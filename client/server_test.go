package client

import (
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/internal/faultproxy"
)

func realServer(t *testing.T) (addr string) {
	t.Helper()
	return turnlogtest.Start(t).Addr()
}

// newCutter is a proxy that loses answers: the request is delivered, but instead of
// the answer the client gets the end of the connection. It does so with one
// batch of bytes from the server in every n, at random.
func newCutter(t *testing.T, server string, n int) *faultproxy.Proxy {
	t.Helper()
	p := faultproxy.For(t, faultproxy.Config{Targets: []string{server}, Seed: rand.Uint64()})
	p.LoseAnswers(1 / float64(n))
	return p
}
