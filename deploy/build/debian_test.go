package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestDebianVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v0.2.0": "0.2.0", "v0.2.0-rc.1": "0.2.0~rc.1", "v0.2.0-dev.0": "0.2.0~dev.0",
		"v0.2.0-5-gabc": "0.2.0+5+gabc", "7fb8e32": "0~7fb8e32", "7fb8e32-dirty": "0~7fb8e32+dirty",
	} {
		if got := debianVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// Each page that a file of the package names is in the package, and so are the pages to which its pages link.
func TestPackageHasThePagesThatItNames(t *testing.T) {
	r := release{deploy: "..", share: t.TempDir()}
	list, err := r.contents("turnlog", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{} // by where they are installed
	for _, c := range list {
		if strings.HasPrefix(c.Source, "..") {
			text, err := os.ReadFile(c.Source)
			if err != nil {
				t.Fatal(err)
			}
			texts[c.Destination] = string(text)
		}
	}
	const doc = "/usr/share/doc/turnlog/"
	named := regexp.MustCompile(`docs/[a-z/-]+\.md`)
	linked := regexp.MustCompile(`\]\(([^)#:]+\.md)`)
	pages := 0
	for name, text := range texts {
		if strings.HasSuffix(name, ".md") {
			for _, link := range linked.FindAllStringSubmatch(text, -1) {
				to := path.Join(path.Dir(name), link[1])
				if _, ok := texts[to]; !ok && strings.HasPrefix(to, doc+"docs/") {
					t.Errorf("%s links to %s, which is not in the package", name, to)
				}
			}
			pages++
			continue
		}
		for _, page := range named.FindAllString(text, -1) {
			if _, ok := texts[doc+page]; !ok {
				t.Errorf("%s names %s, which is not in the package", name, page)
			}
		}
	}
	if pages < 20 {
		t.Errorf("the package has %d pages", pages)
	}
	settings := texts["/etc/turnlog/turnlog.yaml"]
	if !strings.Contains(settings, doc+"docs/operations/first-cluster.md") {
		t.Errorf("the settings do not say where their page is: %s", settings)
	}
}

// packages builds the packages of two versions, which differ in nothing else.
func packages(t *testing.T, versions ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, v := range versions {
		r := release{version: v, binaries: dir, program: require(t), deploy: "..", out: dir}
		binary := filepath.Join(dir, "turnlog-"+v+"-linux-"+runtime.GOARCH)
		if err := os.Symlink(r.program, binary); err != nil {
			t.Fatal(err)
		}
		if err := r.run([]string{"linux/" + runtime.GOARCH}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (m *machine) install(dir, version string) string {
	m.t.Helper()
	name := "turnlog_" + version + "_" + runtime.GOARCH + ".deb"
	m.put(filepath.Join(dir, name))
	return m.run("dpkg -i " + name + " 2>&1")
}

// TestDebianPackage: the package is installed on a machine with systemd; its node is started, killed, stopped,
// backed up and upgraded; the package is removed and purged, and what it did not make is left.
func TestDebianPackage(t *testing.T) {
	dir := packages(t, "v1.0.0", "v1.0.1")
	m := startMachine(t)
	m.install(dir, "1.0.0")
	t.Run("Files", func(t *testing.T) { m.t = t; m.files() })
	t.Run("Units", func(t *testing.T) { m.t = t; m.units() })
	t.Run("Node", func(t *testing.T) { m.t = t; m.node() })
	t.Run("Backup", func(t *testing.T) { m.t = t; m.backup() })
	t.Run("Upgrade", func(t *testing.T) { m.t = t; m.upgrade(dir) })
	t.Run("Reinstall", func(t *testing.T) { m.t = t; m.reinstall(dir) })
	t.Run("Remove", func(t *testing.T) { m.t = t; m.remove() })
}

func (m *machine) files() {
	m.is("systemctl is-active turnlog || true", "inactive") // nothing is started
	m.is("systemctl is-enabled turnlog turnlog-backup.timer || true", "disabled\ndisabled")
	m.is("turnlog --version | cut -d' ' -f1", "turnlog")
	m.is("stat -c '%U:%G %a' /etc/turnlog /var/lib/turnlog /var/backups/turnlog",
		"root:turnlog 750\nturnlog:turnlog 700\nturnlog:turnlog 700")
	m.is("dpkg --verify turnlog", "")
	if out := m.run("zcat /usr/share/man/man1/turnlog-serve.1.gz"); !strings.Contains(out, "data\\-dir") {
		m.t.Errorf("the man page of serve: %.300s", out)
	}
	m.run("bash -nc '. /usr/share/bash-completion/completions/turnlog'")
}

func (m *machine) units() {
	m.is("systemd-analyze verify /usr/lib/systemd/system/turnlog*.service "+
		"/usr/lib/systemd/system/turnlog*.timer 2>&1", "")
	level := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)
	for _, unit := range []string{"turnlog.service", "turnlog-backup.service"} {
		out := m.run("systemd-analyze security --no-pager " + unit)
		found := level.FindStringSubmatch(out)
		if found == nil {
			m.t.Fatal(out)
		}
		m.t.Logf("%s: exposure %s", unit, found[1])
		if n, err := strconv.ParseFloat(found[1], 64); err != nil || n > 1.5 { // of 10
			m.t.Errorf("%s is open: %s", unit, out)
		}
	}
}

func (m *machine) pid() string {
	m.t.Helper()
	return m.run("systemctl show -p MainPID --value turnlog")
}

// node starts the node, kills it, and stops it.
func (m *machine) node() {
	m.run("systemctl start turnlog")
	m.run("turnlog append chat 'hello' --timeout 30s")
	first := m.pid()
	m.is("stat -c %U /proc/"+first, "turnlog")
	m.is("grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/"+first+"/status | tr -d '\\n\\t'",
		"CapEff:0000000000000000NoNewPrivs:1Seccomp:2")
	m.run("kill -9 " + first)
	m.until("systemd starts the node again", func() bool { pid := m.pid(); return pid != first && pid != "0" })
	m.is("turnlog read chat --timeout 30s 2>/dev/null | grep -c hello", "1")
	m.run("systemctl reload turnlog")
	m.run("systemctl stop turnlog")
	m.is("systemctl show -p Result -p ExecMainStatus turnlog", "Result=success\nExecMainStatus=0")

	// A setting that is wrong is not tried again and again.
	m.run("cp /etc/turnlog/turnlog.yaml good.yaml; echo 'resp-addr: 0.0.0.0:7379' >> /etc/turnlog/turnlog.yaml")
	m.try("systemctl start turnlog")
	m.until("the unit fails", func() bool { out, _ := m.try("systemctl is-failed turnlog"); return out == "failed\n" })
	m.is("systemctl show -p ExecMainStatus -p NRestarts turnlog", "NRestarts=0\nExecMainStatus=2")
	m.run("cp good.yaml /etc/turnlog/turnlog.yaml; systemctl reset-failed turnlog; systemctl start turnlog")
	m.is("turnlog read chat --timeout 30s 2>/dev/null | grep -c hello", "1")
}

func (m *machine) backup() {
	m.run("systemctl start turnlog-backup") // without Prometheus's node exporter, and now with it
	m.is("stat -c '%U %a' /var/backups/turnlog/turnlog-*", "turnlog 600")
	m.run(`install -d -g turnlog -m 2775 /var/lib/prometheus/node-exporter
		echo 'BACKUP_FLAGS=--metrics-file /var/lib/prometheus/node-exporter/turnlog.prom' >> /etc/turnlog/backup.env
		systemctl start turnlog-backup`)
	m.is("stat -c '%U %a' /var/lib/prometheus/node-exporter/turnlog.prom", "turnlog 644")
	m.is("grep -c '^turnlog_backup_last_success_timestamp_seconds' /var/lib/prometheus/node-exporter/turnlog.prom", "1")
	m.run("systemctl enable --now turnlog-backup.timer")
	m.is("systemctl is-active turnlog-backup.timer", "active")
}

// upgrade: settings that were changed stay, and the node runs on until it is restarted.
func (m *machine) upgrade(dir string) {
	m.run("echo '# ours' >> /etc/turnlog/turnlog.yaml; echo 'users: []' > /etc/turnlog/users.yaml")
	before := m.pid()
	out := m.install(dir, "1.0.1")
	if !strings.Contains(out, "systemctl restart turnlog") {
		m.t.Errorf("the upgrade says\n%s", out)
	}
	if after := m.pid(); after != before {
		m.t.Errorf("the upgrade restarted the node: process %s, then %s", before, after)
	}
	m.is("tail -n 1 /etc/turnlog/turnlog.yaml", "# ours")
	m.run("systemctl restart turnlog")
	m.is("turnlog read chat --timeout 30s 2>/dev/null | grep -c hello", "1")
}

// reinstall: settings that were changed outlive a downgrade, the package's removal, and another version of its own
// file.
func (m *machine) reinstall(dir string) {
	m.install(dir, "1.0.0")
	m.is("tail -n 1 /etc/turnlog/turnlog.yaml", "# ours")
	m.run("dpkg --remove turnlog")
	m.install(dir, "1.0.1")
	m.is("tail -n 1 /etc/turnlog/turnlog.yaml", "# ours")
	m.is("dpkg-query -W -f '${Conffiles}' turnlog | cut -d' ' -f2 | grep .", "/etc/turnlog/turnlog.yaml")
	m.run("dpkg-deb -R turnlog_1.0.1_*.deb new; echo '# theirs' >> new/etc/turnlog/turnlog.yaml; " +
		"sed -i 's/^Version:.*/Version: 1.0.2/' new/DEBIAN/control; dpkg-deb -Znone -b new new.deb; " +
		"dpkg -i --force-confold new.deb </dev/null")
	m.is("tail -n 1 /etc/turnlog/turnlog.yaml", "# ours")
	m.is("tail -n 1 /etc/turnlog/turnlog.yaml.dpkg-dist", "# theirs")
	m.run("rm /etc/turnlog/turnlog.yaml.dpkg-dist; systemctl start turnlog")
	m.is("turnlog read chat --timeout 30s 2>/dev/null | grep -c hello", "1")
}

func (m *machine) remove() {
	m.run("dpkg --remove turnlog")
	m.is("systemctl is-active turnlog || true", "inactive")
	m.is("tail -n 1 /etc/turnlog/turnlog.yaml", "# ours")
	m.run("test -f /etc/turnlog/users.yaml; test -n \"$(ls /var/lib/turnlog)\"")
	out := m.run("dpkg --purge turnlog </dev/null 2>&1")
	kept := "kept, since not made by the package: /etc/turnlog /var/lib/turnlog /var/backups/turnlog"
	if !strings.Contains(out, kept) {
		m.t.Errorf("purge says\n%s", out)
	}
	m.is("ls /etc/turnlog", "backup.env\nusers.yaml")
	m.run("test -n \"$(ls /var/lib/turnlog)\"; ls /var/backups/turnlog/turnlog-*; id turnlog")
	m.is("find /usr -name '*turnlog*' -not -path '*/go/*'", "")
}

// TestPurgeLeavesNothing of a package whose node never ran.
func TestPurgeLeavesNothing(t *testing.T) {
	dir := packages(t, "v1.0.0")
	m := startMachine(t)
	m.install(dir, "1.0.0")
	m.run("dpkg --purge turnlog 2>&1")
	m.is("id turnlog 2>/dev/null || echo none", "none")
	m.is("ls -d /etc/turnlog /var/lib/turnlog /var/backups/turnlog 2>/dev/null || echo none", "none")
}
