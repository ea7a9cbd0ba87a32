package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// blocks returns the commands of a page that stand in blocks marked sh.
func blocks(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1) {
		commands.WriteString(block[1] + "\n")
	}
	return commands.String()
}

// The commands of docs/securing.md do what the page says, from the first to the last.
func TestSecuringACluster(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the page uses curl")
	}
	script := blocks(t, "../../docs/securing.md")
	used := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(script, -1)
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
	text := string(out)
	if err != nil || !strings.Contains(text, "\nthe end\n") || strings.Contains(text, "OPEN") {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, says := range []string{`seq 1, revision 1`, `"data_base64":"aGVsbG8="`, "3 of 3 nodes compared", "UNAUTHORIZED", "FORBIDDEN", "this takes admin"} {
		if !strings.Contains(text, says) {
			t.Errorf("missing: %s\n%s", says, text)
		}
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
	walk((&app{getenv: func(string) string { return "" }}).root())
}
