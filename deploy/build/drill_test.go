package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestFirstCluster runs the commands of docs/operations/first-cluster.md, where the page says that they run: on three
// machines and the operator's own. What it says in words, to copy files, is done here.
func TestFirstCluster(t *testing.T) {
	dir := packages(t, "v1.0.0")
	deb := filepath.Join(dir, "turnlog_1.0.0_"+runtime.GOARCH+".deb")
	net := newNetwork(t)
	start := func(addr string) *machine {
		m := startMachine(t)
		net.plug(m.init, addr)
		m.put(deb)
		return m
	}
	nodes := []*machine{start("10.0.0.1"), start("10.0.0.2"), start("10.0.0.3")}
	operator := start("10.0.0.9")
	operator.run("dpkg -i turnlog_*.deb 2>&1")

	began := time.Now()
	var out strings.Builder
	for _, b := range page(t, "../../docs/operations/first-cluster.md") {
		switch {
		case b.where == "your machine":
			out.WriteString(operator.run(b.commands) + "\n")
		case b.where == "the first machine":
			out.WriteString(nodes[0].run(b.commands) + "\n")
		case strings.HasPrefix(b.where, "each machine"):
			for i, m := range nodes {
				m.put(fmt.Sprintf("/proc/%d/root/root/turnlog-keys/n%d.tar", operator.init, i+1))
				m.run(strings.Replace(b.commands, "n=1\n", fmt.Sprintf("n=%d\n", i+1), 1))
			}
		default:
			t.Fatalf("commands on %q", b.where)
		}
	}
	t.Logf("from packages to a cluster: %.0f s", time.Since(began).Seconds())
	text := out.String()
	for _, part := range []string{"seq 1, revision 1", "3 of 3 nodes compared", "turnlog_role{", "SUCCESS",
		".tlb", "hello"} {
		if !strings.Contains(text, part) {
			t.Errorf("missing: %s\n%s", part, text)
		}
	}
	if strings.Contains(text, "OPEN") {
		t.Errorf("something is open:\n%s", text)
	}
}

type block struct{ where, commands string }

// page returns a page's commands, each with the machine that the line before names.
func page(t *testing.T, file string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile("(?s)\nOn ([^\n]*):\n\n```sh\n(.*?)```\n")
	for _, found := range form.FindAllStringSubmatch(string(text), -1) {
		list = append(list, block{found[1], found[2]})
	}
	if n := strings.Count(string(text), "\n```sh\n"); n != len(list) {
		t.Fatalf("%d of %d blocks say where they run", len(list), n)
	}
	return list
}
