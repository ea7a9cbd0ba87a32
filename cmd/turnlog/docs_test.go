package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// blocks returns the commands of a page that stand in blocks marked sh, which may be part of a list.
func blocks(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, block := range regexp.MustCompile("(?s)\n *```sh\n(.*?)\n *```\n").FindAllStringSubmatch(string(text), -1) {
		commands.WriteString(block[1] + "\n")
	}
	return commands.String()
}

// run runs the commands of a page, from the first to the last, and returns what they print. Each address
// that the page names is replaced by one that is free.
func run(t *testing.T, page string) string {
	t.Helper()
	script := blocks(t, page)
	used := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(script, -1)
	slices.Sort(used)
	used = slices.Compact(used)
	free := freePorts(t, len(used))
	const standard = "127.0.0.1:7379" // which is meant where no address is given
	script = "TURNLOG_ADDR=" + standard + "\nexport TURNLOG_ADDR\n" + script
	for i, addr := range used {
		script = strings.ReplaceAll(script, addr, free[i])
	}
	cmd := exec.Command("sh", "-eu", "-c", "trap 'kill $nodes' EXIT\n"+script+"trap - EXIT\necho the end\n")
	cmd.Dir = t.TempDir()
	cmd.Env = append(cleanEnv(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nthe end\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// says holds what a page's commands print to what has to be in it.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("missing: %s\n%s", part, text)
		}
	}
}

// The commands of docs/securing.md do what the page says.
func TestSecuringACluster(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the page uses curl")
	}
	text := run(t, "../../docs/securing.md")
	if strings.Contains(text, "OPEN") {
		t.Errorf("something is open:\n%s", text)
	}
	says(t, text, `seq 1, revision 1`, `"data_base64":"aGVsbG8="`, "3 of 3 nodes compared", "UNAUTHORIZED", "FORBIDDEN",
		"this requires admin")
}

// The commands of docs/operations/backup.md do what the page says: a cluster is backed up, lost, restored, lost but for
// one node, and recovered.
func TestBackupPage(t *testing.T) {
	text := run(t, "../../docs/operations/backup.md")
	says(t, text, "backups/turnlog-", "sound: backups/turnlog-", "sound: elsewhere.tlb",
		"data-n1 is the first node of the new cluster", " --join\nThen start the others",
		"3 of 3 nodes compared", "node n1 of cluster",
		"recovered is the first node of the new cluster")
	if n := strings.Count(text, "seq 1, revision 1"); n != 3 || strings.Count(text, "had been appended before") != 2 {
		t.Errorf("the append was answered %d times, and twice as a duplicate?\n%s", n, text)
	}
}

// The session in the README's "Quick start" goes as it is shown.
func TestQuickStart(t *testing.T) {
	for _, tool := range []string{"curl", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the README uses " + tool)
		}
	}
	base := freeBase(t)
	dev := startProcess(t, nil, "dev", "--data-dir", t.TempDir(), "--port-base", strconv.Itoa(base))
	t.Cleanup(func() { dev.stop(os.Interrupt) }) // before its directory is removed
	dev.until("ready", func() bool { return strings.Contains(dev.text(), "Ctrl-C stops the cluster") })
	ports := regexp.MustCompile(`\b7[34]\d\d\b`)
	times := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`)

	for _, step := range shown(t, "../../README.md", "## Quick start") {
		command := ports.ReplaceAllStringFunc(step.command, func(port string) string {
			n, _ := strconv.Atoi(port)
			return strconv.Itoa(base + n - 7379)
		})
		command = strings.ReplaceAll(command, "bin/turnlog", binary)
		if strings.Contains(command, "PID-OF-THE-LEADER") {
			leader := shell{t, fmt.Sprintf("127.0.0.1:%d", base)}.field("leader", "cluster", "status")
			pid := regexp.MustCompile(leader + ` .*pid (\d+)`).FindStringSubmatch(dev.text())
			command = strings.ReplaceAll(command, "PID-OF-THE-LEADER", pid[1])
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Env = append(cleanEnv(), fmt.Sprintf("TURNLOG_ADDR=127.0.0.1:%d", base))
		out, err := cmd.CombinedOutput()
		if step.output == "" && err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		got, want := times.ReplaceAllString(string(out), "TIME"), times.ReplaceAllString(step.output, "TIME")
		if step.output != "" && got != want {
			t.Fatalf("%s says\n%s\nthe README shows\n%s", command, got, want)
		}
	}
}

// step is a command that a page shows, and the output that it shows for it.
type step struct{ command, output string }

// shown returns the commands of the first block behind a heading, each behind a $.
func shown(t *testing.T, page, heading string) (steps []step) {
	t.Helper()
	_, after, _ := strings.Cut(string(read(t, page)), "\n"+heading+"\n")
	_, block, _ := strings.Cut(after, "\n```\n")
	block, _, ok := strings.Cut(block, "\n```\n")
	if !ok {
		t.Fatalf("%s: no block behind %s", page, heading)
	}
	for line := range strings.Lines(block + "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			steps = append(steps, step{command: command})
		case line != "\n":
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

// The README's limits are those that hold by default.
func TestLimitsAreDocumented(t *testing.T) {
	l := turn.DefaultLimits()
	want := fmt.Sprintf("Message %d MiB · append call %d MiB or 1,000 messages · key %d bytes · id %d bytes · "+
		"metadata %d KiB, %d labels in it.",
		l.MessageBytes>>20, l.AppendBytes>>20, l.KeyBytes, l.IDBytes, l.MetaBytes>>10, turn.MaxLabels)
	page := strings.Join(strings.Fields(string(read(t, "../../README.md"))), " ") // wherever its lines end
	if l.AppendMessages != 1000 || turn.MaxNamespaceBytes != 64 || !strings.Contains(page, want) {
		t.Errorf("the README does not say: %s", want)
	}
}

// Quotes of a flag's help name its argument: `turnlog user` in one would stand for it.
func TestFlagsNameTheirArguments(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") {
				t.Errorf("%s --%s %s: the help shows that as the name of its argument", cmd.CommandPath(), f.Name, name)
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	a := &cli.App{Getenv: func(string) string { return "" }}
	walk(root(a))
}
