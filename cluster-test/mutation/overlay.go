package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Flags writes the changed files into dir and returns what makes the compiler use
// them: an overlay for files of the source tree, and for a module, which cannot be
// overlaid, another go.mod with a changed copy of it.
func (m *Mutant) Flags(c *Code, dir string) ([]string, error) {
	texts, err := c.Change(m.Edits)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	modules := map[string]map[string]string{} // module → path → text
	var flags []string
	for place, text := range texts {
		if place.Module != "" {
			if modules[place.Module] == nil {
				modules[place.Module] = map[string]string{}
			}
			modules[place.Module][place.Path] = text
			continue
		}
		changed := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(place.Path)))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[place.Path] = changed
	}
	for module, texts := range modules { // of which a mutant changes one
		mod, err := changedModule(c.Root, dir, module, texts)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "-modfile="+mod)
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	return append(flags, "-overlay="+file), os.WriteFile(file, b, 0o644)
}

// changedModule copies a module with changed files, and returns a go.mod that
// uses it.
func changedModule(root, dir, module string, texts map[string]string) (string, error) {
	from, err := moduleDir(module)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "module")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", err
	}
	for path, text := range texts {
		name, err := filepath.Rel(from, path)
		if err != nil {
			return "", err
		}
		// The copy is as read-only as the module cache.
		changed := filepath.Join(to, name)
		if err := errors.Join(os.Remove(changed), os.WriteFile(changed, []byte(text), 0o644)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if name == "go.mod" {
			b = fmt.Appendf(b, "\nreplace %s => %s\n", module, to)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "go.mod"), nil
}
