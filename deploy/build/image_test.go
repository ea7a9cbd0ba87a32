package main

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestImage: the image has one file, an empty directory and no user of the machine; three containers of it are a
// cluster, which its own health check sees, and which survives one of them.
func TestImage(t *testing.T) {
	img, file := image(t)
	if file.Architecture != runtime.GOARCH || file.Config.User != "65532:65532" {
		t.Errorf("for %s, user %s", file.Architecture, file.Config.User)
	}
	net := newNetwork(t)
	var nodes []*container
	for i := range 3 {
		addr := fmt.Sprintf("10.99.0.%d", i+1)
		nodes = append(nodes, startContainer(t, img, net, addr, []string{
			fmt.Sprintf("TURNLOG_NODE_ID=n%d", i+1), "TURNLOG_INSECURE=true",
			"TURNLOG_RESP_ADVERTISE=" + addr + ":7379",
			"TURNLOG_HTTP_ADVERTISE=" + addr + ":7380", "TURNLOG_RAFT_ADVERTISE=" + addr + ":7381",
			"TURNLOG_INITIAL_CLUSTER=n1=10.99.0.1:7381,n2=10.99.0.2:7381,n3=10.99.0.3:7381",
		}, ""))
	}
	check := strings.Join(file.Config.Healthcheck.Test[1:], " ")
	for _, c := range nodes {
		until(t, "the health check succeeds", func() bool { _, err := c.exec(check); return err == nil })
	}
	if out, err := nodes[0].exec("/turnlog append chat hello --timeout 30s"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	nodes[0].kill()
	if out, err := nodes[2].exec("/turnlog read chat --timeout 30s"); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("after a node was killed: %v: %s", err, out)
	}
	if out, err := nodes[0].exec(check + " --timeout 1s"); err == nil {
		t.Errorf("the health check of a dead node: %s", out)
	}
}

// TestImageIsClosed: a container without users and certificates does not listen, unless it is told to.
func TestImageIsClosed(t *testing.T) {
	img, file := image(t)
	c := &container{t: t, root: unpack(t, img), env: file.Config.Env}
	out, err := c.command(strings.Join(append(file.Config.Entrypoint, file.Config.Cmd...), " ")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "users-file") {
		t.Errorf("%v: %s", err, out)
	}
}

// image builds the image, and reads it as a container engine would.
func image(t *testing.T) (v1.Image, *v1.ConfigFile) {
	t.Helper()
	dir := packages(t, "v1.0.0")
	img, err := tarball.ImageFromPath(filepath.Join(dir, "turnlog-v1.0.0-linux-"+runtime.GOARCH+".image.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return img, file
}

// unpack writes the image's files, and demands that there is one.
func unpack(t *testing.T, img v1.Image) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil { // for the container's user
		t.Fatal(err)
	}
	layers := mutate.Extract(img)
	defer layers.Close()
	var names []string
	for r := tar.NewReader(layers); ; {
		head, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, head.Name)
		to := filepath.Join(root, head.Name)
		if head.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, head.FileInfo().Mode())
		} else {
			err = writeFrom(to, r)
		}
		if err == nil {
			err = os.Chown(to, head.Uid, head.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(names, []string{"data", "turnlog"}) && !slices.Equal(names, []string{"data/", "turnlog"}) {
		t.Errorf("the image has %q", names)
	}
	return root
}

func writeFrom(file string, r io.Reader) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
