package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func run(o options) error {
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changelog), o.version)
	if err != nil {
		return err
	}
	if err := os.Mkdir(o.out, 0o755); err != nil {
		return err
	}
	names := []string{"NOTES.md"}
	if err := os.WriteFile(filepath.Join(o.out, names[0]), []byte(notes), 0o644); err != nil {
		return err
	}
	for _, target := range o.targets {
		files, err := o.build(target)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		names = append(names, files...)
	}
	if !o.onlyBinaries {
		files, err := o.pack()
		if err != nil {
			return err
		}
		names = append(names, files...)
	}
	return sum(o.out, names)
}

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

// sum writes the checksums, as sha256sum -c reads them.
func sum(dir string, names []string) error {
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644)
}
