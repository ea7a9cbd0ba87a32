package inflight

import (
	"net"
	"testing"
)

// A client that sends on without waiting for answers is noticed by its waiting
// input, and is taken for a patient one again only after a long time.
func TestPaceNoticesWhoSendsOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := NewPacing(server)
	serve := func() bool {
		if !p.Single() {
			return false
		}
		p.Served()
		return true
	}
	for range 10 * peekEvery {
		if !serve() {
			t.Fatal("a patient client is not served inline")
		}
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	// The byte is in the server's socket once it can be peeked at; until then
	// the client is still patient.
	for inline := 0; serve(); inline++ {
		if inline > 1_000_000 {
			t.Fatal("waiting input is not noticed")
		}
	}
	if _, err := server.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for i := range calmAfter / 2 {
		if serve() {
			t.Fatalf("served inline after %d single requests", i)
		}
	}
	p.Broken()
	n := 0
	for !serve() {
		n++
	}
	if n != calmAfter-1 {
		t.Fatalf("served inline again after %d single requests, want %d", n, calmAfter-1)
	}
}

func TestPaceOfAConnectionThatCannotBeLookedInto(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	p := NewPacing(a)
	if p.Single() {
		t.Fatal("served inline, although an eager client could not be noticed")
	}
}
