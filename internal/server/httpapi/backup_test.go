package httpapi

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

func TestBackup(t *testing.T) {
	d := startServer(t)
	a := d.do("GET", "/v1/cluster/backup", "")
	if a.status != 200 || a.body != "the state" || a.header.Get("Turnlog-Index") != "12" ||
		a.header.Get("Content-Length") != "9" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a backup: %+v", a)
	}
	if a := d.do("HEAD", "/v1/cluster/backup", ""); a.status != 400 {
		t.Errorf("the head of a backup: %+v", a)
	}
	d.admin.fault = turn.Errorf(turn.Overloaded, "another one is being taken")
	d.fails(503, "OVERLOADED", "GET", "/v1/cluster/backup", "")
}

// A backup that fails in its middle does not look whole.
func TestBackupThatFails(t *testing.T) {
	d := startServer(t)
	d.admin.broken = errors.New("a block is damaged")
	req, err := http.NewRequest("GET", "http://"+d.addr+"/v1/cluster/backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	resp, err := d.client.Do(req)
	if err != nil {
		return // before its head
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a broken backup ends without an error, after %q", b)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A node gives one backup at a time: each is given back, whether it is read to its end, fails, loses its client or
// the server stops.
func TestBackupIsGivenBack(t *testing.T) {
	for what, end := range map[string]func(d *testServer, body io.ReadCloser){
		"its end": func(_ *testServer, body io.ReadCloser) { _, _ = io.Copy(io.Discard, body) },
		"a failure": func(_ *testServer, body io.ReadCloser) {
			if _, err := io.Copy(io.Discard, body); err == nil {
				t.Error("a failure looks like the end")
			}
		},
		"a client that leaves": func(_ *testServer, body io.ReadCloser) { body.Close() },
		"the server's end": func(d *testServer, body io.ReadCloser) {
			read := make(chan error, 1)
			go func() { // ends with the connection
				_, err := io.Copy(io.Discard, body)
				read <- err
			}()
			if err := d.stop(); err != nil {
				t.Error(err)
			}
			if err := <-read; err == nil {
				t.Error("a backup that was cut short looks whole")
			}
		},
	} {
		d := startServer(t)
		d.admin.closed = make(chan struct{}, 1)
		switch what {
		case "its end":
		case "a failure":
			d.admin.broken = errors.New("a block is damaged")
		default:
			d.admin.rest = zeros{}
		}
		req, err := http.NewRequest("GET", "http://"+d.addr+"/v1/cluster/backup", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		if resp, err := d.client.Do(req); err == nil {
			end(d, resp.Body)
			resp.Body.Close()
		} else if what != "a failure" { // it may come before the head
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-d.admin.closed:
		case <-time.After(10 * time.Second):
			t.Fatalf("after %s the backup is not given back", what)
		}
	}
}
