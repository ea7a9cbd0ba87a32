package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build builds the binary for a platform, and lists what is in it.
func (o options) build(target string) (names []string, err error) {
	goos, goarch, ok := strings.Cut(target, "/")
	if !ok {
		return nil, fmt.Errorf("a platform is written as linux/amd64")
	}
	name := "turnlog-" + o.version + "-" + goos + "-" + goarch
	file := filepath.Join(o.out, name)
	if err := o.compile(file, goos, goarch); err != nil {
		return nil, err
	}
	text, err := sbom(file, o.version)
	if err != nil {
		return nil, err
	}
	return []string{name, name + ".cdx.json"}, os.WriteFile(file+".cdx.json", text, 0o644)
}

// compile builds the program. Nothing of the machine gets in: no paths, no C library, and no build id, which
// would hash both.
func (o options) compile(file, goos, goarch string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= -X main.version="+o.version,
		"-o", file, "./cmd/turnlog")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+goos, "GOARCH="+goarch,
		"GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
