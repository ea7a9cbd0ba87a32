package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// uid is the user and group of the process and of /data, which no machine has by itself.
const uid = 65532

// image writes turnlog-VERSION-linux-ARCH.image.tar, which docker load, podman load and skopeo read: one
// file, and an empty directory for the data.
func (r release) image(binary, arch string) (file string, err error) {
	content, err := layer(binary)
	if err != nil {
		return "", err
	}
	img, err := mutate.AppendLayers(empty.Image, content)
	if err != nil {
		return "", err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return "", err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", arch, r.config()
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return "", err
	}
	if img, err = mutate.CreatedAt(img, v1.Time{Time: packed()}); err != nil {
		return "", err
	}
	tag, err := name.NewTag("turnlog:" + r.version)
	if err != nil {
		return "", err
	}
	file = "turnlog-" + r.version + "-linux-" + arch + ".image.tar"
	return file, r.write(file, func(w io.Writer) error { return tarball.Write(tag, img, w) })
}

// config is how the image runs. Its addresses are those of every interface, at which serve listens only with
// users and TLS, or with TURNLOG_INSECURE=true.
func (r release) config() v1.Config {
	return v1.Config{
		Entrypoint: []string{"/turnlog"},
		Cmd:        []string{"serve"},
		User:       "65532:65532",
		WorkingDir: "/data",
		Volumes:    map[string]struct{}{"/data": {}},
		Env: []string{"TURNLOG_DATA_DIR=/data", "TURNLOG_RESP_ADDR=:7379", "TURNLOG_HTTP_ADDR=:7380",
			"TURNLOG_RAFT_ADDR=:7381"},
		ExposedPorts: map[string]struct{}{"7379/tcp": {}, "7380/tcp": {}, "7381/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/turnlog", "cluster", "health", "--serving"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "turnlog",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.licenses": "MIT",
			"org.opencontainers.image.source":   "https://github.com/turnlog/turnlog",
		},
	}
}

func layer(binary string) (v1.Layer, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err = addFile(w, &tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: uid, Gid: uid}, nil)
	if err == nil {
		err = addFile(w, &tar.Header{Name: "turnlog", Mode: 0o755}, program)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	data := b.Bytes()
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}
