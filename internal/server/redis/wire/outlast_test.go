package wire

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
)

// What comes while a request blocks is kept, and read in order when the request has ended.
func TestInputBehindARequestThatBlocks(t *testing.T) {
	w, client := newRig().sockets(t)
	in, blocks := reader(w), make(chan struct{})
	w.Block(blocks)
	pipeline := strings.Repeat("PING behind\r\n", 1000) // more than the reader holds
	kept := make(chan struct{})
	go func() {
		io.WriteString(client, pipeline)
		<-kept
		close(blocks)
		w.Wake()
	}()
	var once sync.Once
	filling := func() error {
		if in.Buffered()+len(w.kept.buf) == len(pipeline) {
			once.Do(func() { close(kept) })
		}
		return in.Fill()
	}
	// Once the reader is full, fill is called again after each read that keeps more.
	if !w.Outlast(filling) || !w.Kept() {
		t.Fatalf("the request is not outlasted; input was kept: %v", w.Kept())
	}
	for i := range 1000 {
		args, err := in.Next()
		if err != nil || len(args) != 2 || string(args[1]) != "behind" {
			t.Fatalf("request %d is %q, %v", i, args, err)
		}
	}
	if w.Kept() || !w.Outlast(func() error { return errors.New("not to be called") }) {
		t.Error("something is left of what blocked")
	}
}

// A client that leaves while a request blocks is noticed, also behind more input than is kept, where the system tells.
func TestClientLeavesWhileARequestBlocks(t *testing.T) {
	for name, input := range map[string]int{"no input": 0, "input": 100, "more input than is kept": 3 * keptChunk} {
		if input > keptChunk && runtime.GOOS != "linux" {
			continue
		}
		w, client := newRig().sockets(t)
		in := reader(w)
		w.Block(make(chan struct{})) // for ever
		go func() {
			client.Write(bytes.Repeat([]byte("x"), input))
			client.Close()
		}()
		if w.Outlast(in.Fill) {
			t.Errorf("%s: the client is still there", name)
		}
	}
}

// A request that ends while no more can be kept is outlasted.
func TestRequestEndsWhileNothingCanBeKept(t *testing.T) {
	r := newRig()
	r.memory = 0
	w, client := r.sockets(t)
	send(t, client, "unread")
	blocks, full := make(chan struct{}), make(chan struct{})
	w.Block(blocks)
	go func() {
		<-full
		close(blocks)
		w.Wake()
	}()
	if !w.Outlast(func() error { close(full); return resp.ErrFull }) || w.Kept() {
		t.Errorf("the request is not outlasted, or input was kept without memory: %v", w.Kept())
	}
	p := make([]byte, 16)
	if n, err := w.Input(func() {}).Read(p); string(p[:n]) != "unread" || err != nil {
		t.Errorf("then %q is read, %v", p[:n], err)
	}
}

// A connection without a socket keeps what it can, then waits for the request.
func TestNoSocketToAsk(t *testing.T) {
	r := newRig()
	r.memory = 0
	w, _ := r.pipe(t)
	blocks := make(chan struct{})
	w.Block(blocks)
	if !w.Outlast(func() error { close(blocks); return resp.ErrFull }) {
		t.Error("the request is not outlasted")
	}
}

// Stop ends what blocks, and then the wait for it.
func TestStopWhileARequestBlocks(t *testing.T) {
	w, _ := newRig().sockets(t)
	in, blocks, waits := reader(w), make(chan struct{}), make(chan struct{})
	w.Block(blocks)
	go func() {
		<-waits
		w.Stop()
		<-w.Gone().Done() // as what blocks does
		close(blocks)
	}()
	if !w.Outlast(func() error { close(waits); return in.Fill() }) {
		t.Error("the client is called gone")
	}
}

// A request that has ended before it is outlasted costs no wait, although Wake came too early. One that comes too late
// ends no read.
func TestRequestHasEndedAlready(t *testing.T) {
	w, client := newRig().sockets(t)
	in, blocks := reader(w), make(chan struct{})
	w.Block(blocks)
	close(blocks)
	w.Wake()
	if !w.Outlast(in.Fill) {
		t.Fatal("the client is called gone")
	}
	for range 2 {
		send(t, client, "PING\r\n")
		if args, err := in.Next(); err != nil || len(args) != 1 {
			t.Errorf("the next request is %q, %v", args, err)
		}
		w.Wake()
	}
}

// The memory of what is kept is given back when the connection ends.
func TestKeptMemoryIsGivenBack(t *testing.T) {
	r := newRig()
	before := r.memory
	w, _ := r.sockets(t)
	w.kept.grew(copy(w.kept.room(), "input"))
	if r.memory == before {
		t.Error("nothing was charged")
	}
	if w.Close(); r.memory != before {
		t.Errorf("%d bytes are still charged", before-r.memory)
	}
}
