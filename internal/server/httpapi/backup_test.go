package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
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
// the server stops, which waits for none.
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
			read, stopped := make(chan error, 1), make(chan error, 1)
			go func() { // ends with the connection
				_, err := io.Copy(io.Discard, body)
				read <- err
			}()
			go func() { stopped <- d.stop() }() // ends with the backup
			select {
			case err := <-read:
				if err == nil {
					t.Error("a backup that was cut short looks whole")
				}
			case <-time.After(10 * time.Second):
				t.Error("the server waits for a backup")
				body.Close()
			}
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		},
	} {
		d := startServer(t, func(c *Config) { c.Grace = time.Hour })
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

// A user who loses the right to administer gets no more of a backup.
func TestBackupEndsWithTheRight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	usersFile(t, path, "ann: right: admin, namespaces: ['*']")
	users := openUsers(t, path)
	out, in := io.Pipe()
	d := startServer(t, func(c *Config) { c.Users = users })
	d.admin.rest = out
	t.Cleanup(func() { out.Close() })
	go in.Write(make([]byte, backupBuffer)) // ends when it is read, and is more than is buffered on the way
	c := d.connect(fmt.Sprintf("GET /v1/cluster/backup HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", bearer("ann")))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, len("the ")+backupBuffer)); err != nil {
		t.Fatal(err)
	}
	usersFile(t, path, "ann: right: write, namespaces: ['*']")
	if err := users.Reload(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = in.Write(make([]byte, backupBuffer)) // an error when the backup ended
		_ = in.CloseWithError(errors.New("it goes on"))
	}()
	if b, _ := io.ReadAll(res.Body); len(b) > 0 {
		t.Errorf("a user without the right is sent %d bytes", len(b))
	}
}

// pacedStream is a backup of so many pieces, each of which takes its node a while.
type pacedStream struct {
	left int
	each time.Duration
}

func (p *pacedStream) Read(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, io.EOF
	}
	time.Sleep(p.each)
	return len(b), nil
}

// pacedWriter is a client that takes each piece in a while.
type pacedWriter struct {
	http.ResponseWriter
	each     time.Duration
	deadline time.Time
}

func (w *pacedWriter) SetWriteDeadline(by time.Time) error { w.deadline = by; return nil }

func (w *pacedWriter) Write(b []byte) (int, error) {
	if left := time.Until(w.deadline); left < w.each {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(w.each)
	return len(b), nil
}

// A client that takes a little of a backup now and then is cut off, since it keeps others from taking one; a
// client whose node is slow is not.
func TestTricklingReaderOfABackup(t *testing.T) {
	const mebibytes = 1 << 20 / backupBuffer
	for what, c := range map[string]struct {
		node, client time.Duration
		whole        bool
	}{
		"a slow node":   {time.Hour, time.Second / mebibytes, true},
		"the rate":      {0, time.Second / mebibytes, true},
		"half the rate": {0, 2 * time.Second / mebibytes, false},
		"a trickle":     {0, 19 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &pacedWriter{each: c.client}
			call := &call{server: &Server{cfg: Config{Stall: 20 * time.Second}}, ctx: t.Context(),
				out: &output{w: w, rc: http.NewResponseController(w), stall: 20 * time.Second}}
			began := time.Now()
			err := call.copyOut(&pacedStream{100 * mebibytes, c.node})
			if c.whole != (err == nil) || err != nil && !strings.Contains(err.Error(), "less than 1024 KiB a second") ||
				err != nil && time.Since(began) > time.Minute {
				t.Errorf("%s: after %v: %v", what, time.Since(began), err)
			}
		})
	}
}
