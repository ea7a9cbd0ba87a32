package main

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/resp"
)

// tap is a proxy that notes the requests which pass it, up to ECHO, and whether they
// were answered with an error.
type tap struct {
	proxy *faultproxy.Proxy

	mu    sync.Mutex
	notes []string
	ended bool // ECHO has passed
}

func newTap(target string) (*tap, error) {
	t := &tap{}
	var err error
	t.proxy, err = faultproxy.New(faultproxy.Config{Targets: []string{target}, Carry: t.carry})
	return t, err
}

func (t *tap) address() string { return t.proxy.Addr() }

// carry copies a connection both ways and reads the copies.
func (t *tap) carry(c *faultproxy.Conn) {
	requests, requestBytes := io.Pipe()
	asked := make(chan string, 1024)
	var parts sync.WaitGroup
	parts.Go(func() {
		io.Copy(io.MultiWriter(c.Server, requestBytes), c.Client)
		c.Server.Close()
		requestBytes.Close()
	})
	parts.Go(func() { readRequests(requests, asked) })
	parts.Go(func() {
		t.readReplies(io.TeeReader(c.Server, c.Client), asked)
		c.Client.Close()
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
	t.proxy.Drain()
	return t.notes
}
