// Package s3test runs an S3 server for tests: versitygw, which keeps objects as files of a folder. It can be killed and
// started again.
package s3test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
)

// Server is a running server with one bucket.
type Server struct {
	Endpoint string
	URL      string // of the bucket
	Dir      string // the bucket's folder
	// Env is what a process needs to use it, as NAME=value.
	Env []string

	binary, root, port string
	cmd                *exec.Cmd
	t                  *testing.T
}

// Start runs a server until the test ends. Without the program the test is skipped; with
// TURNLOG_REQUIRE_DEPS=1 it fails.
func Start(t *testing.T) *Server {
	t.Helper()
	binary := find(t)
	var reserved ports.Reserved
	addrs, err := reserved.Addrs(1)
	t.Cleanup(reserved.Release)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := &Server{Endpoint: "http://" + addrs[0], URL: "s3://bucket", Dir: filepath.Join(root, "data", "bucket"),
		binary: binary, root: root, port: addrs[0], t: t,
		Env: []string{"AWS_ENDPOINT_URL_S3=http://" + addrs[0], "AWS_ACCESS_KEY_ID=tester",
			"AWS_SECRET_ACCESS_KEY=tester-secret", "AWS_REGION=us-east-1"}}
	for _, dir := range []string{s.Dir, filepath.Join(root, "sidecar")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// find returns the program that test/scripts/install-test-deps.sh builds.
func find(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "bin", "versitygw")
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("TURNLOG_REQUIRE_DEPS") == "1" {
			t.Fatal("versitygw is missing, and TURNLOG_REQUIRE_DEPS=1; test/scripts/install-test-deps.sh builds it")
		}
		t.Skip("NOT TESTED: backups in object stores. versitygw is missing: run test/scripts/install-test-deps.sh")
	}
	return binary
}

// Run starts the server, again after Kill.
func (s *Server) Run() {
	s.t.Helper()
	s.cmd = exec.Command(s.binary, "--quiet", "--port", s.port, "--access", "tester", "--secret", "tester-secret",
		"posix", "--sidecar", filepath.Join(s.root, "sidecar"), filepath.Join(s.root, "data"))
	output, err := os.OpenFile(filepath.Join(s.root, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		defer output.Close()
		s.cmd.Stdout, s.cmd.Stderr = output, output
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get(s.Endpoint)
		if err == nil {
			res.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.root, "log"))
			s.t.Fatalf("the server does not answer: %v\n%s", err, log)
		}
	}
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Getenv returns what a variable of Env has.
func (s *Server) Getenv(name string) string {
	for _, v := range s.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
