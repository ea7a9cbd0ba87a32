package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/internal/testcluster"
)

const deploy = "../../deploy/prometheus"

// require skips a test unless `make alerts` runs it, which installs what it needs.
func require(t *testing.T, program string) string {
	t.Helper()
	if os.Getenv("TURNLOG_REQUIRE_PROMETHEUS") != "1" {
		t.Skip("NOT TESTED: alerts; `make alerts` does")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// prometheus is a server that scrapes nodes five times a second, with the rules of deploy, which
// need not hold for a while before they fire. Rates over five minutes are over 15 s, so that alerts end in time.
type prometheus struct {
	t    *testing.T
	addr string
}

func startPrometheus(t *testing.T, scheme string, targets ...string) *prometheus {
	t.Helper()
	binary, dir := require(t, "prometheus"), t.TempDir()
	rules, err := os.ReadFile(filepath.Join(deploy, "turnlog.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules = regexp.MustCompile(`(?m)^ *for: .*\n`).ReplaceAll(rules, nil)
	rules = bytes.ReplaceAll(rules, []byte("[5m]"), []byte("[15s]"))
	write(t, filepath.Join(dir, "rules.yml"), string(rules))
	write(t, filepath.Join(dir, "prometheus.yml"), fmt.Sprintf(`
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [rules.yml]
scrape_configs:
  - job_name: turnlog
    scheme: %s
    tls_config: {insecure_skip_verify: true}
    static_configs: [{targets: [%s]}]
`, scheme, strings.Join(targets, ", ")))
	var reserved ports.Reserved
	addrs, err := reserved.Addrs(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Release)
	cmd := exec.Command(binary, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path",
		filepath.Join(dir, "data"), "--web.listen-address", addrs[0], "--log.level", "error")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = testcluster.ChildAttributes(syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &prometheus{t, addrs[0]}
}

// memory returns a folder in memory, so that other programs that use the machine's disk make no disk slow; an ordinary
// one where there is none.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "turnlog-alerts-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *prometheus) get(path string, out any) error {
	res, err := http.Get("http://" + p.addr + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(out)
}

// firing returns the names of the alerts that fire.
func (p *prometheus) firing() (names []string, err error) {
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	err = p.get("/api/v1/alerts", &answer)
	for _, a := range answer.Data.Alerts {
		if name := a.Labels["alertname"]; a.State == "firing" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// up returns how many targets answer.
func (p *prometheus) up() int {
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := p.get("/api/v1/query?query=sum(up)", &answer); err != nil || len(answer.Data.Result) != 1 {
		return 0
	}
	n := 0
	_, _ = fmt.Sscan(fmt.Sprint(answer.Data.Result[0].Value[1]), &n)
	return n
}

// within waits until what is so.
func (p *prometheus) within(what string, done func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	if err := testcluster.Until(ctx, what, done); err != nil {
		names, _ := p.firing()
		p.t.Fatalf("%v; firing: %q", err, names)
	}
}

// fires waits until each of the alerts fires, and those that must not be there are not.
func (p *prometheus) fires(names ...string) {
	p.t.Helper()
	p.within(strings.Join(names, ", ")+" fire", func() bool {
		firing, err := p.firing()
		for _, name := range names {
			if !slices.Contains(firing, name) {
				return false
			}
		}
		return err == nil
	})
}

// resolves waits until none of the alerts fires.
func (p *prometheus) resolves(names ...string) {
	p.t.Helper()
	p.within(strings.Join(names, ", ")+" have ended", func() bool {
		firing, err := p.firing()
		return err == nil && !slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(firing, name)
		})
	})
}

// firesOnly waits until these alerts fire, and no other one. What other programs on this machine write,
// extrapolated for a day, may fill its disk.
func (p *prometheus) firesOnly(names ...string) {
	p.t.Helper()
	p.within(fmt.Sprintf("only %q fire", names), func() bool {
		firing, err := p.firing()
		firing = slices.DeleteFunc(firing, func(name string) bool { return name == "TurnlogDiskFillsUp" })
		return err == nil && slices.Equal(firing, names)
	})
}

// Each alert has a section in the page on alerts, and no other section is there.
func TestEachAlertHasAdvice(t *testing.T) {
	names := func(file, pattern string) (list []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			list = append(list, m[1])
		}
		return list
	}
	rules := names(filepath.Join(deploy, "turnlog.rules.yml"), `(?m)^ *- alert: (\w+)$`)
	advice := names("../../docs/operations/alerts.md", `(?m)^## (Turnlog\w+)$`)
	if len(rules) == 0 || !slices.Equal(rules, advice) {
		t.Errorf("the page on alerts has %q; the rules are %q", advice, rules)
	}
}
