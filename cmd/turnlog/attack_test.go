package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// These attack the program as it comes, with nothing configured.

// asPage sends a request as a browser does for a page of the given host, whose
// name its owner has made resolve to this machine.
func asPage(t *testing.T, n *node, host, method, path, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+n.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Origin", "http://"+host)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestReboundPageGetsNothing: a web page whose name resolves to 127.0.0.1 neither
// reads a session nor adds a node of its own, which would be sent all data.
func TestReboundPageGetsNothing(t *testing.T) {
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "a secret")
	evil := fmt.Sprintf("evil.example%s", n.http[strings.LastIndex(n.http, ":"):])
	for _, r := range [][3]string{
		{"GET", "/v1/sessions/alice/messages", ""}, {"GET", "/v1/sessions", ""}, {"GET", "/metrics", ""},
		{"POST", "/v1/cluster/nodes", `{"id":"n9","raft_addr":"127.0.0.1:1"}`}, {"DELETE", "/v1/sessions/alice", ""},
	} {
		if status, answer := asPage(t, n, evil, r[0], r[1], r[2]); status != http.StatusForbidden ||
			strings.Contains(answer, "secret") {
			t.Errorf("%s %s: %d %s", r[0], r[1], status, answer)
		}
	}
	if got := n.ok("read", "alice", "--raw"); got != "a secret\n" {
		t.Errorf("read %q", got)
	}
}

// TestAdministrationOnThisMachine: a user who may read the node's files administers
// it without further ado; no other user does.
func TestAdministrationOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	n := startNode(t, dir)
	token := filepath.Join(dir, "admin-token")
	if info, err := os.Stat(token); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if status, answer := asPage(t, n, n.http, "POST", "/v1/cluster/nodes",
		`{"id":"n9","raft_addr":"127.0.0.1:1"}`); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", status, answer)
	}
	if got := n.ok("cluster", "checksum"); !strings.HasPrefix(got, "1 of 1 nodes compared") {
		t.Errorf("checksum: %q", got)
	}
	if err := os.Chmod(token, 0o644); err != nil {
		t.Fatal(err)
	}
	n.fails(cli.ExitUnknown, "admin token", "cluster", "checksum")
}

// TestExportIsForItsOwner: what people said is not written for others to read.
func TestExportIsForItsOwner(t *testing.T) {
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "a secret")
	file := filepath.Join(t.TempDir(), "backup.jsonl")
	n.ok("export", "-o", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestAdministrationKeepsToItsTimeout: a node that accepts and says nothing holds up
// no command for longer than --timeout.
func TestAdministrationKeepsToItsTimeout(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	n := startNode(t, t.TempDir(), "--http-advertise", silent.Addr().String())
	n.fails(cli.ExitUnknown, "UNKNOWN_OUTCOME", "cluster", "checksum", "--timeout", "3s")
}

// TestImpostorGetsNoToken: another program of this machine, asked in place of a node,
// names that node's file, and is not sent what is in it.
func TestImpostorGetsNoToken(t *testing.T) {
	dir := t.TempDir()
	startNode(t, dir)
	token := filepath.Join(dir, "admin-token")
	heard := make(chan string, 8)
	impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r.Header.Get("Authorization")
		w.Header().Set("Turnlog-Admin-Token-File", token)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer impostor.Close()
	n := startNode(t, t.TempDir(), "--http-advertise", impostor.Listener.Addr().String())
	n.fails(cli.ExitUnknown, "names the token file "+token, "cluster", "checksum")
	if len(heard) == 0 {
		t.Error("it was not even asked")
	}
	for range len(heard) {
		if got := <-heard; got != "" {
			t.Errorf("it was told %q", got)
		}
	}
}
