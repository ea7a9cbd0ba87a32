package main

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// unzipped returns the files of a ZIP file.
func unzipped(t *testing.T, name string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := make(map[string]string)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if files[f.Name] != "" {
			t.Errorf("%s is there twice", f.Name)
		}
		files[f.Name] = string(b)
	}
	return files
}

// A report has what tells how a node is, and nothing of what users have in it.
func TestDebugZip(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.user("zenobia", "--allow-namespace", "0")
	addrs := freePorts(t, 4)
	s.addr = addrs[0]
	s.start(addrs[0], addrs[1], addrs[2], "--data-dir", s.file("data"), "--pprof-addr", addrs[3])
	s.ok(append(s.as("zenobia"), "append", "chat:the-key", "the payload", "--id", "the-id")...)
	s.ok(append(s.as("bot"), "meta", "chat:the-key", "the-field=the value")...)
	s.fails(cli.ExitFailed, "FORBIDDEN", append(s.as("bot"), "append", "another-key", "x")...)

	name := s.file("report.zip")
	zipping := append(s.as("root"), "debug", "zip", name, "--pprof-addrs", addrs[3], "--data-dirs", s.file("data"))
	if out := s.ok(zipping...); !strings.HasPrefix(out, name+": 8 files, ") {
		t.Errorf("it tells %q", out)
	}
	files := unzipped(t, name)
	for file, has := range map[string]string{
		"README.txt":           "nodes/n1/metrics.txt",
		"cluster.json":         `"status": "healthy"`,
		"nodes/n1/metrics.txt": "turnlog_applied_index ",
		"nodes/n1/readyz.txt":  "",
	} {
		if text, ok := files[file]; !ok || !strings.Contains(text, has) {
			t.Errorf("%s: %v, %.200q; want %q", file, ok, text, has)
		}
	}
	var all strings.Builder
	for name, text := range files {
		switch {
		case strings.HasPrefix(name, "profiles/") && strings.HasSuffix(name, "/goroutines.txt"):
			if !strings.HasPrefix(text, "goroutine ") {
				t.Errorf("%s: %.100q", name, text)
			}
		case strings.HasPrefix(name, "data-dirs/") && !strings.Contains(text, "wal"):
			t.Errorf("%s: %.100q", name, text)
		}
		all.WriteString(name + text)
	}
	for _, private := range []string{"the-key", "another-key", "the payload", "the-id", "the-field", "the value",
		"zenobia", s.passwords["root"], s.passwords["bot"]} {
		// Files of this test lie in directories whose names may have anything in them.
		if strings.Contains(strings.ReplaceAll(all.String(), s.dir, ""), private) {
			t.Errorf("a report has %q", private)
		}
	}

	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s.fails(cli.ExitUsage, "exists: name another file", zipping...)
	if after, err := os.ReadFile(name); err != nil || !slices.Equal(before, after) {
		t.Errorf("a file that exists has changed: %v", err)
	}
}

// A command line that is wrong is not a node that is: nothing is written, and a password that was given in the wrong
// place above all.
func TestDebugZipOfAWrongCommand(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "report.zip")
	s := shell{t, freePorts(t, 1)[0]}
	for _, args := range [][]string{{"--addr", "ops:the-secret@" + s.addr}, {"--timeout", "0"}} {
		s.fails(cli.ExitUsage, "", append([]string{"debug", "zip", name}, args...)...)
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%q: there is a file: %v", args, err)
		}
	}
	s.fails(cli.ExitUsage, "name a file", "debug", "zip", "-")
}

// Directories are listed also behind a link, by names that cannot steer a terminal, and none under the name of
// another.
func TestDebugZipOfDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, file := range map[string]string{"a-b": "one", "a b": "two\n\x1b[2J"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700),
			os.WriteFile(filepath.Join(dir, name, file), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "a_b")
	if err := os.Symlink(filepath.Join(dir, "a-b"), link); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "report.zip")
	shell{t, freePorts(t, 1)[0]}.run("debug", "zip", name, "--timeout", "300ms", "--data-dirs",
		link+","+filepath.Join(dir, "a b"))
	var all strings.Builder
	for file, text := range unzipped(t, name) {
		if strings.HasPrefix(file, "data-dirs/") {
			all.WriteString(text)
		}
	}
	if text := all.String(); !strings.Contains(text, "one") || !strings.Contains(text, `two\n\x1b[2J`) {
		t.Errorf("listed: %q", text)
	}
}

// Nodes that do not answer are what a report is about, often.
func TestDebugZipWithoutACluster(t *testing.T) {
	t.Parallel()
	addrs := freePorts(t, 1)
	name := filepath.Join(t.TempDir(), "report.zip")
	shell{t, addrs[0]}.fails(cli.ExitFailed, "missing: cluster.json: ", "debug", "zip", name, "--timeout", "300ms",
		"--data-dirs", filepath.Join(t.TempDir(), "absent"))
	files := unzipped(t, name)
	for _, said := range []string{"Missing:\n", "cluster.json: ", "absent"} {
		if text := files["README.txt"]; !strings.Contains(text, said) {
			t.Errorf("README.txt does not say %q: %s", said, text)
		}
	}
}
