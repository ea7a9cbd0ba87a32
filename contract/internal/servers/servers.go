// Package servers runs Redis and PostgreSQL for tests: real servers, on free ports, with their data in temporary
// directories. A test is skipped where a server is not installed.
package servers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
)

const readyTime = 30 * time.Second

// missing skips a test that cannot run here, or fails it where it must.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("TURNLOG_REQUIRE_DEPS") == "1" {
		t.Fatalf("%s is missing, and TURNLOG_REQUIRE_DEPS=1; test/scripts/install-test-deps.sh installs it", what)
	}
	t.Skipf("%s is missing; test/scripts/install-test-deps.sh installs it", what)
}

// server is a process that listens at addr.
type server struct {
	t     testing.TB
	addr  string
	make  func() *exec.Cmd
	ready func() bool
	end   os.Signal // ends it with the test
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
	log   *os.File
}

func newServer(t testing.TB) *server {
	t.Helper()
	return &server{t: t, addr: ports.For(t, 1)[0], end: os.Kill}
}

// Addr is where the server listens.
func (s *server) Addr() string { return s.addr }

func (s *server) port() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return port
}

// start runs the server until it serves. One that ends at once is tried again: the
// processes of its last life may still be about.
func (s *server) start() error {
	for end := time.Now().Add(readyTime); ; {
		s.cmd = s.make()
		s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
		if err := s.cmd.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func(cmd *exec.Cmd) {
			cmd.Wait() // how it ended is in its log
			close(ended)
		}(s.cmd)
		s.ended = ended
		if s.waitReady(end) {
			return nil
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("%s does not serve: %s", s.cmd, text)
		}
	}
}

// waitReady returns false when the process has ended, or it is too late.
func (s *server) waitReady(end time.Time) bool {
	for !s.ready() {
		select {
		case <-s.ended:
			time.Sleep(50 * time.Millisecond)
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Restart ends the process with the given signal, and starts it again.
func (s *server) Restart(signal os.Signal) error {
	s.stop(signal)
	return s.start()
}

func (s *server) stop(signal os.Signal) {
	s.cmd.Process.Signal(signal)
	<-s.ended
}

// run starts s, until the end of the test.
func (s *server) run(dir string) {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = log
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.stop(s.end)
		log.Close()
	})
}

// Redis starts a redis-server with its default settings and the given ones, such
// as "--appendonly", "yes".
func Redis(t testing.TB, settings ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		missing(t, "redis-server")
	}
	dir := t.TempDir()
	s := newServer(t)
	s.ready = func() bool {
		out, err := exec.Command("redis-cli", "-p", s.port(), "ping").Output()
		return err == nil && strings.HasPrefix(string(out), "PONG")
	}
	s.make = func() *exec.Cmd {
		args := append([]string{"--port", s.port(), "--bind", "127.0.0.1", "--dir", dir}, settings...)
		return exec.Command("redis-server", args...)
	}
	s.run(dir)
	return s
}

// Postgres starts a PostgreSQL of its own. URL is how to reach it.
func Postgres(t testing.TB) (s *server, url string) {
	t.Helper()
	bin := postgresBin()
	if bin == "" {
		missing(t, "postgresql")
	}
	dir, err := os.MkdirTemp("", "turnlog-postgres-") // which another user can reach
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := asPostgres(t, dir)
	data := filepath.Join(dir, "data")
	init := as(filepath.Join(bin, "initdb"), "-D", data, "-U", "turnlog", "--auth=trust", "--no-sync",
		"--encoding=UTF8", "--locale=C")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	s = newServer(t)
	s.end = syscall.SIGQUIT // one that is killed leaves its shared memory to the machine
	s.ready = func() bool {
		return exec.Command(filepath.Join(bin, "pg_isready"), "-h", "127.0.0.1", "-p", s.port()).Run() == nil
	}
	s.make = func() *exec.Cmd {
		return as(filepath.Join(bin, "postgres"), "-D", data, "-p", s.port(), "-k", dir, "-h", "127.0.0.1")
	}
	s.run(dir)
	return s, fmt.Sprintf("postgres://turnlog@%s/postgres?sslmode=disable", s.Addr())
}

// postgresBin is the directory of the server's programs, which Debian keeps out of
// the path.
func postgresBin() string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(dirs) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(dirs[i], "initdb")); err == nil {
			return dirs[i]
		}
	}
	if p, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(p)
	}
	return ""
}

// asPostgres returns how to run a command. PostgreSQL refuses to be run by root,
// so root gives dir to the user postgres and runs it as that.
func asPostgres(t testing.TB, dir string) func(name string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return exec.Command
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		missing(t, "setpriv (package util-linux)")
	}
	if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
		missing(t, "the user postgres: "+strings.TrimSpace(string(out)))
	}
	return func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(setpriv,
			append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups", "--", name}, args...)...)
		cmd.Dir = dir
		return cmd
	}
}
