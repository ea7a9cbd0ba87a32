package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// TestFaults: what a client sees of each fault, and what reached the server.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		fault   contract.Fault
		want    string // in the client's error or answer
		arrived int64
	}{
		{contract.Fault{Break: contract.CutBefore}, "", 0},
		{contract.Fault{Break: contract.CutAfter}, "", 1},
		{contract.Fault{Break: contract.Delay}, "deadline", 1},
		{contract.Fault{Break: contract.HalfOpen}, "deadline", 0},
		{contract.Fault{Break: contract.Answer, Answer: "503"}, "503", 0},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			var arrived atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived.Add(1)
				io.Copy(w, r.Body)
			}))
			defer server.Close()
			p, err := New(HTTP{}, server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if got := post(t, p.Addr(), patient); got != "200 OK hello" {
				t.Fatalf("through a healthy proxy: %s", got)
			}
			arrived.Store(0)
			p.Break(tt.fault)
			within := patient
			if tt.want == "deadline" {
				within = 2 * time.Second
			}
			got := post(t, p.Addr(), within)
			if got == "200 OK hello" || !strings.Contains(got, tt.want) || arrived.Load() != tt.arrived ||
				p.Hits() != 1 {
				t.Errorf("%s; %d requests arrived, %d hits", got, arrived.Load(), p.Hits())
			}
			p.Heal()
			if got := post(t, p.Addr(), patient); got != "200 OK hello" {
				t.Errorf("healed: %s", got)
			}
		})
	}
}

// patient is enough for a request on a slow machine.
const patient = 20 * time.Second

// post makes a request over a connection of its own.
func post(t *testing.T, addr string, within time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	r.GetBody = nil // so that it is sent once
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return res.Status + " " + string(text)
}

// TestSkipAndTimes: a fault lets some requests pass, meets some, and no more.
func TestSkipAndTimes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	defer server.Close()
	p, err := New(HTTP{}, server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Break(contract.Fault{Break: contract.Answer, Answer: "507", Skip: 2, Times: 2})
	var got []string
	for range 6 {
		got = append(got, post(t, p.Addr(), patient)[:3])
	}
	if s := strings.Join(got, " "); s != "200 200 507 507 200 200" {
		t.Errorf("answers %s", s)
	}
}

// TestNextTarget: a connection goes to the next target when one is gone.
func TestNextTarget(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	first, second := httptest.NewServer(hello), httptest.NewServer(hello)
	defer second.Close()
	p, err := New(HTTP{}, first.Listener.Addr().String(), second.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		if got := post(t, p.Addr(), patient); got != "200 OK hello" {
			t.Error(got)
		}
		first.Close()
	}
}
