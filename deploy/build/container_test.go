package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A container is a process of an image: in its own root, with its own user, network and process numbers.
type container struct {
	t     *testing.T
	root  string
	env   []string
	netns string // "" for the machine's network
	cmd   *exec.Cmd
}

// startContainer starts the image with more settings, on a host of the network whose /etc/hosts has hosts. Each of
// mounts adds files to its root before that.
func startContainer(t *testing.T, img v1.Image, net *network, addr string, env []string, hosts string,
	mounts ...func(root string) error) *container {
	t.Helper()
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	conf := file.Config
	c := &container{t: t, root: unpack(t, img), netns: net.host(addr), env: append(slices.Clone(conf.Env), env...)}
	if hosts != "" { // as container engines do
		if err := os.Mkdir(filepath.Join(c.root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.root, "etc/hosts"), []byte(hosts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, mount := range mounts {
		if err := mount(c.root); err != nil {
			t.Fatal(err)
		}
	}
	c.cmd = c.command(strings.Join(append(conf.Entrypoint, conf.Cmd...), " "))
	c.cmd.Stdout, c.cmd.Stderr = t.Output(), t.Output()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

func (c *container) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// command returns a command line within the container.
func (c *container) command(line string) *exec.Cmd {
	args := []string{"chroot", "--userspec=65532:65532", c.root}
	if c.netns != "" {
		args = append([]string{"nsenter", "--net=" + c.netns}, args...)
	}
	args = append(args, strings.Fields(line)...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(slices.Clone(c.env), "PATH="+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (c *container) exec(line string) (string, error) {
	out, err := c.command(line).CombinedOutput()
	return string(out), err
}
