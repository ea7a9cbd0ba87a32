package turnlog_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// modules are what a program that embeds turnlog is built of, in addition to Go's own packages. What a
// module is for is in ARCHITECTURE.md; those without a line there come with another.
var modules = []string{
	"github.com/armon/go-metrics",
	"github.com/beorn7/perks",
	"github.com/boltdb/bolt",
	"github.com/cespare/xxhash/v2",
	"github.com/fatih/color",
	"github.com/hashicorp/go-hclog",
	"github.com/hashicorp/go-immutable-radix",
	"github.com/hashicorp/go-metrics",
	"github.com/hashicorp/go-msgpack/v2",
	"github.com/hashicorp/golang-lru",
	"github.com/hashicorp/raft",
	"github.com/hashicorp/raft-boltdb/v2",
	"github.com/mattn/go-colorable",
	"github.com/mattn/go-isatty",
	"github.com/munnerz/goautoneg",
	"github.com/prometheus/client_golang",
	"github.com/prometheus/client_model",
	"github.com/prometheus/common",
	"github.com/prometheus/procfs",
	"github.com/tidwall/btree",
	"github.com/turnlog/turnlog",
	"github.com/vmihailenco/msgpack/v5",
	"github.com/vmihailenco/tagparser/v2",
	"go.etcd.io/bbolt",
	"go.yaml.in/yaml/v3",
	"golang.org/x/crypto",
	"golang.org/x/sync",
	"golang.org/x/sys",
	"google.golang.org/protobuf",
}

// list returns what `go list -deps` prints of a package and all that it imports, each line once.
func list(t *testing.T, format, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestDependencies: a program that embeds turnlog, or that imports its client, gets what these are made
// of, and nothing of the command line, the contract suite or the tools.
func TestDependencies(t *testing.T) {
	for pkg, want := range map[string][]string{
		".":        modules,
		"./client": {"github.com/turnlog/turnlog", "golang.org/x/sync"},
	} {
		got := list(t, "{{if and (not .Standard) .Module}}{{.Module.Path}}{{end}}", pkg)
		t.Logf("%s: %d modules: %s", pkg, len(got), strings.Join(got, " "))
		for _, m := range got {
			if !slices.Contains(want, m) {
				t.Errorf("%s is built of %s, too: a new dependency has a line in ARCHITECTURE.md, and here", pkg, m)
			}
		}
		for _, m := range want {
			if !slices.Contains(got, m) {
				t.Errorf("%s is not built of %s any more: take it off the list", pkg, m)
			}
		}
	}
	packages := list(t, "{{.ImportPath}}", ".")
	for _, p := range []string{"net/http/pprof", "github.com/turnlog/turnlog/contract"} {
		if slices.Contains(packages, p) {
			t.Errorf("a program that embeds turnlog gets package %s", p)
		}
	}
}
