package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildOptions says what Build compiles.
type BuildOptions struct {
	Dir   string // receives the binary
	Race  bool   // with the race detector
	Clock bool   // with a clock that Node.SetClock can set
	// Replace has the compiler read other files in place of some of the source
	// tree, named relative to its root, or of Go's, by their paths.
	Replace map[string]string
}

// Build compiles the turnlog binary of this source tree and returns its path.
func Build(ctx context.Context, o BuildOptions) (string, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return "", err
	}
	binary := filepath.Join(o.Dir, "turnlog")
	args := []string{"build", "-buildvcs=false", "-o", binary}
	if o.Race {
		args = append(args, "-race")
	}
	if o.Clock {
		if o.Replace, err = clockSources(ctx, o.Dir); err != nil {
			return "", err
		}
	}
	if len(o.Replace) > 0 {
		overlay, err := writeOverlay(o, root)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/turnlog")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build turnlog: %w\n%s", err, out)
	}
	return binary, nil
}

// BuildCommit compiles turnlog as it was at a commit, into dir.
func BuildCommit(ctx context.Context, commit, dir string) (string, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	sources := filepath.Join(dir, "sources")
	if err := os.MkdirAll(sources, 0o755); err != nil {
		return "", err
	}
	archive := filepath.Join(dir, "sources.tar")
	binary := filepath.Join(dir, "turnlog")
	for _, step := range []struct{ dir, command string }{
		{root, "git archive --output " + archive + " " + commit},
		{sources, "tar -xf " + archive},
		{sources, "go build -buildvcs=false -o " + binary + " ./cmd/turnlog"},
	} {
		words := strings.Fields(step.command)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = step.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build turnlog at %s: %s: %w\n%s", commit, step.command, err, out)
		}
	}
	return binary, nil
}

func writeOverlay(o BuildOptions, root string) (string, error) {
	replace := map[string]string{}
	for name, by := range o.Replace {
		if !filepath.IsAbs(name) {
			name = filepath.Join(root, name)
		}
		replace[name] = by
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(o.Dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o644)
}

// Commit names the version of the source tree, as far as git knows.
func Commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// ModuleRoot returns the directory of the source tree.
func ModuleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("find the module: run this inside the turnlog source tree")
	}
	return filepath.Dir(mod), nil
}
