package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/turnlog/turnlog/internal/resp"
)

// tap is a proxy that notes the requests which pass it, up to ECHO, and whether they
// were answered with an error.
type tap struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	notes []string
	ended bool // ECHO has passed
}

func newTap(target string) (*tap, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{target: target, listener: l}
	t.running.Go(t.accept)
	return t, nil
}

func (t *tap) address() string { return t.listener.Addr().String() }

func (t *tap) accept() {
	for {
		near, err := t.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			t.running.Go(func() { t.serve(near) })
		}
	}
}

// serve copies a connection both ways and reads the copies.
func (t *tap) serve(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", t.target)
	if err != nil {
		return
	}
	defer far.Close()
	requests, requestBytes := io.Pipe()
	asked := make(chan string, 1024)
	var parts sync.WaitGroup
	parts.Go(func() {
		io.Copy(io.MultiWriter(far, requestBytes), near)
		far.Close()
		requestBytes.Close()
	})
	parts.Go(func() { readRequests(requests, asked) })
	parts.Go(func() {
		t.readReplies(io.TeeReader(far, near), asked)
		near.Close()
	})
	parts.Wait()
}

// readRequests names the requests of a connection, in their order.
func readRequests(r *io.PipeReader, asked chan<- string) {
	defer close(asked)
	defer r.Close()
	in := resp.NewRequestReader(r, resp.Limits{})
	for {
		args, err := in.Next()
		if err != nil {
			return
		}
		asked <- name(args)
	}
}

// name shows a request without what differs from machine to machine.
func name(args [][]byte) string {
	words := strings.Fields(string(bytes.Join(args, []byte(" "))))
	if len(words) > 3 && strings.EqualFold(words[0], "CLIENT") {
		words = words[:3]
	}
	for i := range min(len(words), 2) {
		words[i] = strings.ToUpper(words[i])
	}
	return strings.Join(words, " ")
}

// readReplies notes each request when it is answered, until the connection ends.
func (t *tap) readReplies(r io.Reader, asked <-chan string) {
	in := resp.NewReplyReader(r, resp.Limits{})
	for {
		v, err := in.Next()
		if err != nil {
			return
		}
		if v.Kind == resp.Push {
			continue
		}
		request := <-asked
		t.mu.Lock()
		t.ended = t.ended || strings.HasPrefix(request, "ECHO")
		if !t.ended {
			note := "`" + request + "`"
			if v.Kind == resp.SimpleError || v.Kind == resp.BulkError {
				note += " (refused)"
			}
			t.notes = append(t.notes, note)
		}
		t.mu.Unlock()
	}
}

// close waits for the end of the connections and returns what was noted.
func (t *tap) close() []string {
	t.listener.Close()
	t.running.Wait()
	return t.notes
}
