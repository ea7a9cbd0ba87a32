package httpapi

import (
	"errors"
	"io"
	"net/http"
	"testing"

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
