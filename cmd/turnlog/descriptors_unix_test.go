//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// limited starts a node that may have so many open files.
func limited(t *testing.T, descriptors int) *node {
	t.Helper()
	ports := freePorts(t, 3)
	n := &node{http: ports[1], shell: shell{t, ports[0]}}
	n.args = []string{"-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(descriptors), binary,
		"serve", "--data-dir", t.TempDir(), "--resp-addr", ports[0], "--http-addr", ports[1], "--raft-addr", ports[2]}
	n.process = startCommand(t, nil, exec.Command("sh", n.args...))
	return n
}

// idle opens connections that say nothing, and returns what the last of them is told.
func idle(t *testing.T, addr string, count int) (last net.Conn) {
	t.Helper()
	for range count {
		c, err := net.DialTimeout("tcp", addr, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		last = c
	}
	return last
}

// Strangers that open as many connections as they can, on every port, keep a node
// from nothing: its log and its state grow, and known clients go on.
func TestIdleConnectionsStopNoNode(t *testing.T) {
	for _, descriptors := range []int{256, 1024} {
		t.Run(fmt.Sprint(descriptors), func(t *testing.T) {
			t.Parallel()
			n := limited(t, descriptors)
			n.until("ready", func() bool { return isReady(n.http) })
			known := idle(t, n.addr, 1)
			flood(t, n, descriptors)
			replies := bufio.NewReader(known)
			payload := strings.Repeat("x", 1<<20)
			for i := range 160 { // of the log's segments 64 MiB each
				known.SetDeadline(time.Now().Add(time.Minute))
				if _, err := fmt.Fprintf(known, "*3\r\n$5\r\nRPUSH\r\n$4\r\nlist\r\n$%d\r\n%s\r\n", len(payload),
					payload); err != nil {
					t.Fatal(err)
				}
				if line, err := replies.ReadString('\n'); err != nil || line != fmt.Sprintf(":%d\r\n", i+1) {
					t.Fatalf("push %d: %q, %v", i+1, line, err)
				}
			}
			if strings.Contains(n.text(), "too many open files") {
				t.Error("it ran out of descriptors")
			}
		})
	}
}

// flood opens more connections than there are descriptors, on every port, and sees
// those turned away that are too many.
func flood(t *testing.T, n *node, descriptors int) {
	t.Helper()
	last := idle(t, n.addr, 2*descriptors)
	last.SetDeadline(time.Now().Add(30 * time.Second))
	if line, err := io.ReadAll(last); string(line) != "-ERR max number of clients reached\r\n" {
		t.Fatalf("Redis: %q, %v", line, err)
	}
	last = idle(t, n.http, 2*descriptors)
	last.SetDeadline(time.Now().Add(30 * time.Second))
	if text, err := io.ReadAll(last); !strings.HasPrefix(string(text), "HTTP/1.1 503 ") {
		t.Fatalf("HTTP: %q, %v", text, err)
	}
	idle(t, n.args[len(n.args)-1], descriptors)
}

func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	n := limited(t, 64)
	select {
	case <-n.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
	if text := n.text(); n.cmd.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(text, "64 open files") ||
		!strings.Contains(text, "ulimit -n") {
		t.Errorf("status %d: %s", n.cmd.ProcessState.ExitCode(), text)
	}
}

// What the limit of open files is divided into is among the metrics, and clients
// come in again when others have gone.
func TestDescriptorsAreMeasured(t *testing.T) {
	t.Parallel()
	n := limited(t, 256)
	n.until("ready", func() bool { return isReady(n.http) })
	metrics := func() string {
		res, err := http.Get("http://" + n.http + "/metrics")
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	if text := metrics(); !strings.Contains(text, "turnlog_descriptors_limit 256\n") ||
		!strings.Contains(text, "turnlog_descriptors_reserved ") {
		t.Error(text)
	}
	t.Run("flood", func(t *testing.T) { idle(t, n.addr, 512) })
	n.until("clients come in", func() bool { return n.run("append", "s", "x").status == 0 })
	if text := metrics(); !strings.Contains(text, "turnlog_resp_connections_rejected_total ") ||
		strings.Contains(text, "turnlog_resp_connections_rejected_total 0\n") {
		t.Error("no connection was turned away")
	}
}

// serveFlooded starts a node with users, with TLS for clients or without. descriptors
// is how many open files it may have; 0: as many as this process.
func (s *secured) serveFlooded(ports []string, secure bool, descriptors int) *process {
	args := []string{binary, "serve", "--data-dir", s.file("data"), "--resp-addr", ports[0], "--http-addr", ports[1],
		"--raft-addr", ports[2]}
	url, client := "http://", http.DefaultClient
	if secure {
		args, url, client = append(args, s.flags("n1")...), "https://", s.client()
	} else {
		args = append(args, "--users-file", s.file("users.yaml"))
	}
	if descriptors > 0 {
		args = append([]string{"sh", "-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(descriptors)}, args...)
	}
	p := startCommand(s.t, nil, exec.Command(args[0], args[1:]...))
	p.until("ready", func() bool {
		res, err := client.Get(url + ports[1] + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return p
}

// One user who opens as many connections as possible, with and without a password, at both
// ports, keeps no administrator out of either.
func TestUserLeavesConnectionsToAdministrators(t *testing.T) {
	s := newSecured(t)
	ports := freePorts(t, 3)
	s.serveFlooded(ports, false, 256)
	open := func(user, addr string) (net.Conn, bool) {
		c := idle(t, addr, 1)
		c.SetDeadline(time.Now().Add(30 * time.Second))
		replies := bufio.NewReader(c)
		if addr == ports[0] {
			fmt.Fprintf(c, "AUTH %s %s\r\n", user, s.passwords[user])
			line, err := replies.ReadString('\n')
			return c, err == nil && line == "+OK\r\n"
		}
		req, _ := http.NewRequest("GET", "http://"+addr+"/v1/cluster", nil)
		req.SetBasicAuth(user, s.passwords[user])
		if req.Write(c) != nil {
			return c, false
		}
		res, err := http.ReadResponse(replies, req)
		return c, err == nil && res.StatusCode == http.StatusOK
	}
	for _, addr := range []string{ports[1], ports[0]} {
		for in := true; in; {
			_, in = open("bot", addr)
		}
	}
	for _, addr := range ports[:2] {
		idle(t, addr, 256)
		if _, in := open("root", addr); !in {
			t.Errorf("an administrator does not get in at %s of %v", addr, ports[:2])
		}
	}
}
