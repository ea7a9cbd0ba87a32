package hangup

import (
	"io"
	"net"
	"testing"
	"time"
)

func TestEndBehindUnreadInput(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(b, "unread")
	if Of(a) {
		t.Error("the other side has not ended")
	}
	b.Close()
	for end := time.Now().Add(10 * time.Second); !Of(a); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the end is not noticed")
		}
	}
	if got, err := io.ReadAll(a); err != nil || string(got) != "unread" {
		t.Errorf("it took input: %q is left, %v", got, err)
	}
	a.Close()
	if !Of(a) {
		t.Error("a connection that this side closed stands")
	}
	x, y := net.Pipe()
	y.Close()
	if Of(x) {
		t.Error("it tells of what is no socket")
	}
}
