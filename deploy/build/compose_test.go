package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestCompose: Compose's own parser takes the file, and its three services, with its settings and its names, are a
// cluster.
func TestCompose(t *testing.T) {
	require(t)
	c := composed(t, "../compose", "compose.yaml")
	const all = " --timeout 30s --addr n1:7379,n2:7379,n3:7379"
	if out, err := c.nodes[0].exec("/turnlog append chat hello" + all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.nodes[0].kill()
	if out, err := c.nodes[1].exec("/turnlog read chat" + all); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("after n1 was killed: %v: %s", err, out)
	}
}

// TestSecureCompose: with secure.yaml and the files that docs/operations/install.md makes, strangers are rejected, and
// a user changes and backs up the cluster.
func TestSecureCompose(t *testing.T) {
	require(t)
	dir := t.TempDir()
	for _, name := range []string{"compose.yaml", "secure.yaml"} {
		text, err := os.ReadFile("../compose/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("../../docs/operations/install.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)```sh\n(umask.*?)```").FindSubmatch(page)
	if commands == nil {
		t.Fatal("the page has no commands for secure.yaml")
	}
	onPath := filepath.Join(t.TempDir(), "turnlog")
	if err := os.Symlink(os.Getenv("TURNLOG_BINARY"), onPath); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-euc", string(commands[1]))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(onPath)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := composed(t, dir, "compose.yaml", "secure.yaml")
	password, err := os.ReadFile(filepath.Join(dir, "ops.password"))
	if err != nil {
		t.Fatal(err)
	}
	const all = " --timeout 30s --addr n1:7379,n2:7379,n3:7379"
	for _, n := range c.nodes {
		n.env = slices.DeleteFunc(n.env, func(v string) bool { return strings.HasPrefix(v, "TURNLOG_PASSWORD_FILE=") })
		n.env = append(n.env, "TURNLOG_USER=ops", "TURNLOG_PASSWORD="+strings.TrimSpace(string(password)))
	}
	for _, line := range []string{"append chat hello", "cluster checksum", "cluster transfer", "backup /data/backup"} {
		if out, err := c.nodes[1].exec("/turnlog " + line + all); err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	c.nodes[1].env = append(c.nodes[1].env, "TURNLOG_PASSWORD=guess")
	if out, err := c.nodes[1].exec("/turnlog read chat" + all); err == nil || !strings.Contains(out, "UNAUTHORIZED") {
		t.Errorf("a guess: %v: %s", err, out)
	}
}

// composition is the cluster that Compose's files describe.
type composition struct {
	project *types.Project
	nodes   []*container
}

// composed starts the services of the files in dir, and waits until each is healthy.
func composed(t *testing.T, dir string, files ...string) composition {
	t.Helper()
	for i, name := range files {
		files[i] = filepath.Join(dir, name)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: dir,
		ConfigFiles: types.ToConfigFiles(files), Environment: types.Mapping{"TURNLOG_VERSION": "v1.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	names := project.ServiceNames()
	slices.Sort(names)
	if len(names) != 3 {
		t.Fatalf("services %q", names)
	}
	hosts := "127.0.0.1 localhost\n"
	for i, name := range names {
		hosts += fmt.Sprintf("10.99.0.%d %s\n", i+1, name)
	}
	c := composition{project: project}
	img, file := image(t)
	net := newNetwork(t)
	for i, name := range names {
		c.nodes = append(c.nodes, c.start(t, name, img, net, fmt.Sprintf("10.99.0.%d", i+1), hosts))
	}
	check := strings.Join(file.Config.Healthcheck.Test[1:], " ")
	for _, n := range c.nodes {
		until(t, "the health check succeeds", func() bool { _, err := n.exec(check); return err == nil })
	}
	return c
}

// start runs a service, which is published on this machine alone.
func (c composition) start(t *testing.T, name string, img v1.Image, net *network, addr, hosts string) *container {
	t.Helper()
	service := c.project.Services[name]
	if service.Image != "turnlog:v1.0.0" {
		t.Errorf("%s: image %s", name, service.Image)
	}
	for _, port := range service.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("%s is published at %q", name, port.HostIP)
		}
	}
	var env []string
	for key, value := range service.Environment {
		if value == nil {
			t.Fatalf("%s: the variable %s would be taken from the shell", name, key)
		}
		env = append(env, key+"="+*value)
	}
	return startContainer(t, img, net, addr, env, hosts, func(root string) error {
		var errs []error
		for _, s := range service.Secrets {
			target := s.Target
			if target == "" {
				target = s.Source
			}
			if !strings.HasPrefix(target, "/") {
				target = "/run/secrets/" + target
			}
			to := filepath.Join(root, target)
			// As Compose mounts it: with the owner and the mode that the file has.
			errs = append(errs, os.MkdirAll(filepath.Dir(to), 0o755),
				exec.Command("cp", "--preserve=all", c.project.Secrets[s.Source].File, to).Run())
		}
		return errors.Join(errs...)
	})
}
