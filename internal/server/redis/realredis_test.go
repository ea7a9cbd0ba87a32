package redis

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
)

// realRedis starts a redis-server until the test ends, and returns its address.
// Where there is none the test is skipped; with TURNLOG_REQUIRE_REDIS=1 it fails.
func realRedis(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("TURNLOG_REQUIRE_REDIS") == "1" {
			t.Fatal("redis-server is not installed, and TURNLOG_REQUIRE_REDIS=1 demands it: run " +
				"test/scripts/install-test-deps.sh")
		}
		t.Skip("redis-server is not installed: run test/scripts/install-test-deps.sh to compare with it")
	}
	addr := ports.For(t, 1)[0]
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
		t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "eady to accept connections") {
				ready <- true
			}
		}
		ready <- false
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatal("redis-server ended at once")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("redis-server does not get ready")
	}
	return addr
}
