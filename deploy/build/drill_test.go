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

// TestFirstCluster runs the commands of docs/operations/first-cluster.md and lost-machines.md, where the pages say that
// they run: on three machines and the operator's own, which Prometheus has, too. What they say in words, to copy files
// and which machines are lost, is done here.
func TestFirstCluster(t *testing.T) {
	deb := filepath.Join(packages(t, "v1.0.0"), "turnlog_1.0.0_"+runtime.GOARCH+".deb")
	d := &drill{t: t, net: newNetwork(t), deb: deb, nodes: make(map[int]*machine)}
	for n := range 3 {
		d.nodes[n+1] = d.start(n + 1)
	}
	d.operator = d.start(9)
	d.operator.run("dpkg -i turnlog_*.deb 2>&1")

	began := time.Now()
	for _, b := range page(t, "../../docs/operations/first-cluster.md") {
		d.follow(b)
	}
	t.Logf("from packages to a cluster: %.0f s", time.Since(began).Seconds())
	d.says("seq 1, revision 1", "3 of 3 nodes compared", "turnlog_role{", "SUCCESS", "{} => 3 ", ".tlb", "hello")

	lost := page(t, "../../docs/operations/lost-machines.md")
	d.lose(3)
	for _, b := range section(lost, "Replace a machine") {
		d.follow(b)
		if strings.Contains(b.commands, "turnlog cert node n4") {
			d.nodes[4] = d.start(4)
			d.install(4, "begin='join: true'")
		}
	}
	d.says("n4 has taken the place of n3", "healthy: 3 nodes")
	for _, b := range section(lost, "All data is lost") {
		d.follow(b)
	}
	d.says("is the first node of the new cluster", "n4 is a member", "3 of 3 nodes compared", "hello")
	d.lose(2)
	d.lose(4)
	for _, b := range section(lost, "The majority is lost") {
		d.follow(b)
	}
	d.says("whose members are n1, n2, n4", "with all that node n1 had", "healthy: 1 node, leader n1", "hello")
}

// A drill has an operator who follows pages.
type drill struct {
	t        *testing.T
	net      *network
	deb      string
	nodes    map[int]*machine // by the last number of their address and their node's id
	operator *machine
	out      strings.Builder // of all commands since says was called
	blocks   []block         // what was followed
}

func (d *drill) start(number int) *machine {
	m := startMachine(d.t)
	d.net.plug(m.init, fmt.Sprint("10.0.0.", number))
	m.put(d.deb)
	return m
}

func (d *drill) lose(number int) {
	d.nodes[number].kill()
	delete(d.nodes, number)
}

// follow runs a block on the machines that the page names.
func (d *drill) follow(b block) {
	d.t.Helper()
	d.blocks = append(d.blocks, b)
	switch where := strings.TrimSuffix(b.where, ", as root"); {
	case where == "your machine":
		d.on(d.operator, b.commands)
	case where == "the machine of Prometheus":
		d.operator.run("[ -d prometheus ] || cp -r turnlog-keys/prometheus .")
		d.on(d.operator, b.commands)
	case where == "the first machine":
		d.on(d.nodes[1], b.commands)
	case strings.HasSuffix(where, "with its own number"):
		for n := range d.nodes {
			d.install(n, "")
		}
	case strings.HasPrefix(where, "each machine"):
		for _, m := range d.nodes {
			d.on(m, b.commands)
		}
	default:
		d.t.Fatalf("commands on %q", b.where)
	}
}

func (d *drill) on(m *machine, commands string) {
	d.t.Helper()
	d.out.WriteString(m.run(commands) + "\n")
}

// install runs the commands that make a machine a node's, with another second line if one is given.
func (d *drill) install(number int, begin string) {
	d.t.Helper()
	m := d.nodes[number]
	m.put(fmt.Sprintf("/proc/%d/root/root/turnlog-keys/n%d.tar", d.operator.init, number))
	for _, b := range d.blocks {
		if strings.HasPrefix(b.commands, "n=1\n") {
			lines := strings.SplitN(b.commands, "\n", 3)
			lines[0] = fmt.Sprint("n=", number)
			if begin != "" {
				lines[1] = begin
			}
			d.on(m, strings.Join(lines, "\n"))
		}
	}
}

// says holds what the commands since its last call printed to what has to be in it.
func (d *drill) says(parts ...string) {
	d.t.Helper()
	text := d.out.String()
	d.out.Reset()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			d.t.Errorf("missing: %s\n%s", part, text)
		}
	}
	if strings.Contains(text, "OPEN") {
		d.t.Errorf("something is open:\n%s", text)
	}
}

type block struct{ section, where, commands string }

// page returns a page's commands, each with the heading that it is below, and the machine that the line before names.
func page(t *testing.T, file string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile("(?s)\nOn ([^\n]*):\n\n```sh\n(.*?)```\n")
	for _, part := range strings.Split(string(text), "\n## ") {
		heading, _, _ := strings.Cut(part, "\n")
		for _, found := range form.FindAllStringSubmatch(part, -1) {
			list = append(list, block{heading, found[1], found[2]})
		}
	}
	if n := strings.Count(string(text), "\n```sh\n"); n != len(list) {
		t.Fatalf("%d of %d blocks say where they run", len(list), n)
	}
	return list
}

// section returns the blocks below a heading.
func section(page []block, heading string) (list []block) {
	for _, b := range page {
		if b.section == heading {
			list = append(list, b)
		}
	}
	return list
}
