package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// writeShare writes the folders man1 and completions, which the program itself prints.
func (r release) writeShare() error {
	if err := exec.Command(r.program, "man-pages", filepath.Join(r.share, "man1")).Run(); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(r.share, "completions"), 0o755); err != nil {
		return err
	}
	// The names are those under which the shells look for completions of turnlog.
	for shell, name := range map[string]string{"bash": "turnlog.bash", "zsh": "_turnlog", "fish": "turnlog.fish"} {
		text, err := exec.Command(r.program, "completion", shell).Output()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.share, "completions", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// archiveFiles writes all files under dir as a tar archive, in the order of their names.
func archiveFiles(dir, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return addFile(w, &tar.Header{Name: name, Mode: 0o644}, text)
	})
	for _, c := range []io.Closer{w, z, f} {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}

// addFile adds a file, or a directory if the name ends so.
func addFile(w *tar.Writer, head *tar.Header, content []byte) error {
	head.ModTime, head.Size = packed(), int64(len(content))
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
