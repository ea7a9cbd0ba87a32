package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// event is a server-sent event as the standard has a client read it.
type event struct {
	id, name, data string
	comment        bool
}

// tail is a client of a stream.
type tail struct {
	t      testing.TB
	cancel context.CancelFunc
	events chan event // closed when the stream ends
}

func (d *testServer) tail(path string, headers ...string) *tail {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+d.addr+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		d.t.Fatalf("%s: status %d, content type %s", path, resp.StatusCode, ct)
	}
	tl := &tail{t: d.t, cancel: cancel, events: make(chan event, 1000)}
	d.t.Cleanup(cancel)
	go func() {
		defer resp.Body.Close()
		defer close(tl.events)
		readEvents(bufio.NewReader(resp.Body), tl.events)
	}()
	return tl
}

func readEvents(r *bufio.Reader, to chan<- event) {
	var e event
	var data []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil || e.comment {
				e.data += strings.Join(data, "\n")
				to <- e
			}
			e, data = event{}, nil
		case name == "":
			e.comment, e.data = true, value
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			data = append(data, value)
		}
	}
}

// next returns the next event that is not a comment.
func (tl *tail) next() event {
	tl.t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case e, ok := <-tl.events:
			if !ok {
				tl.t.Fatal("the stream has ended")
			}
			if !e.comment {
				return e
			}
		case <-timeout:
			tl.t.Fatal("no event in ten seconds")
		}
	}
}

// message checks that the next event is that message.
func (tl *tail) message(seq int, data string) {
	tl.t.Helper()
	e := tl.next()
	var m struct {
		Seq  int
		Data json.RawMessage
	}
	if err := json.Unmarshal([]byte(e.data), &m); err != nil {
		tl.t.Fatalf("%+v: %v", e, err)
	}
	if e.name != "" || e.id != fmt.Sprint(seq) || m.Seq != seq || string(m.Data) != data {
		tl.t.Fatalf("event %+v; want message %d, %s", e, seq, data)
	}
}

// end waits for the end of the stream and returns its last event.
func (tl *tail) end() (last event) {
	tl.t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case e, ok := <-tl.events:
			if !ok {
				return last
			}
			last = e
		case <-timeout:
			tl.t.Fatal("the stream does not end")
		}
	}
}
