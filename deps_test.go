package turnlog_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependencies: a program that embeds turnlog gets the node and what it is made of, and nothing of
// the command line, the contract suite or the tools.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{if and (not .Standard) .Module}}{{.Module.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	t.Logf("modules: %s", strings.Join(modules, " "))
	unwanted := regexp.MustCompile(`pgx|porcupine|pprof|cobra|pflag|go-redis|progressbar|go-fuse|raft-wal|etcd/client`)
	for _, m := range modules {
		if unwanted.MatchString(m) {
			t.Errorf("a program that embeds turnlog gets %s", m)
		}
	}
	const most = 30
	if len(modules) > most {
		t.Errorf("%d modules, want at most %d", len(modules), most)
	}
	out, err = exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"net/http/pprof", "github.com/turnlog/turnlog/contract"} {
		if slices.Contains(strings.Fields(string(out)), p) {
			t.Errorf("a program that embeds turnlog gets package %s", p)
		}
	}
}
