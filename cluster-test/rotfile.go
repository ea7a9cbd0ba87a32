package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

const rotSector = 512

// damage damages a file of a node, any of them. what is empty if there was nothing to do.
func (t *rotTrial) damage(n *cluster.Node) (file, what string, err error) {
	files, err := dataFiles(n.Dir)
	if err != nil || len(files) == 0 {
		return "", "", err
	}
	file = t.pick(files)
	path := filepath.Join(n.Dir, file)
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		return file, "", err
	}
	used := len(content)
	for used > 1 && content[used-1] == 0 {
		used-- // zeros at the end mean nothing in any file
	}
	switch t.rand.IntN(8) {
	case 0: // zeroed
		at := t.rand.IntN(used) / rotSector * rotSector
		size := min(rotSector*(1+t.rand.IntN(8)), len(content)-at)
		return file, fmt.Sprintf("%d bytes at %d of %d zeroed", size, at, used),
			overwrite(path, int64(at), make([]byte, size))
	case 1:
		at := t.rand.IntN(used)
		return file, fmt.Sprintf("cut at %d of %d", at, used), os.Truncate(path, int64(at))
	case 2:
		copied := filepath.Join(t.old[n.ID], file)
		b, err := os.ReadFile(copied)
		if err != nil || len(b) == 0 {
			return file, "", nil // it is new
		}
		return file, fmt.Sprintf("an old copy of %d bytes in its place", len(b)), replaceContent(path, b)
	case 3:
		return t.swap(n, file)
	}
	at, bit := t.rand.IntN(used), t.rand.IntN(8)
	return file, fmt.Sprintf("bit %d of byte %d of %d flipped", bit, at, used),
		overwrite(path, int64(at), []byte{content[at] ^ 1<<bit})
}

// pick picks a file: first a kind, so that those with many files are not all that is met.
func (t *rotTrial) pick(files []string) string {
	kinds := make(map[string][]string)
	var names []string
	for _, f := range files {
		k := kindOf(f)
		if kinds[k] == nil {
			names = append(names, k)
		}
		kinds[k] = append(kinds[k], f)
	}
	of := kinds[names[t.rand.IntN(len(names))]]
	return of[t.rand.IntN(len(of))]
}

// swap has two files of a folder change places, or two sectors of a file without another.
func (t *rotTrial) swap(n *cluster.Node, file string) (string, string, error) {
	path := filepath.Join(n.Dir, file)
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+filepath.Ext(path)))
	others = slices.DeleteFunc(others, func(o string) bool { return o == path })
	if filepath.Dir(file) != "." && len(others) > 0 {
		other := others[t.rand.IntN(len(others))]
		temp := path + ".swapped"
		err := cmpErr(os.Rename(path, temp), os.Rename(other, path), os.Rename(temp, other))
		return file, "swapped with " + filepath.Base(other), err
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 2*rotSector {
		return file, "", err
	}
	x, y := t.rand.IntN(len(b)/rotSector)*rotSector, t.rand.IntN(len(b)/rotSector)*rotSector
	return file, fmt.Sprintf("sectors at %d and %d swapped", x, y),
		cmpErr(overwrite(path, int64(x), b[y:y+rotSector]), overwrite(path, int64(y), b[x:x+rotSector]))
}

// dataFiles returns the files of a node, relative to its directory.
func dataFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, name)
		return err
	})
	return files, err
}

// ignoreGone: a running node removes files.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func overwrite(path string, at int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return cmpErr(err, f.Close())
}

// replaceContent keeps the file, which a node may have open.
func replaceContent(path string, b []byte) error {
	return cmpErr(overwrite(path, 0, b), os.Truncate(path, int64(len(b))))
}

// keepCopy copies all files of a node, for a later round to put one of them back.
func (t *rotTrial) keepCopy(n *cluster.Node) error {
	to := filepath.Join(t.dir, n.ID+"-old")
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	files, err := dataFiles(n.Dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := copyFile(filepath.Join(n.Dir, f), filepath.Join(to, f)); ignoreGone(err) != nil {
			return err
		}
	}
	t.old[n.ID] = to
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmpErr(err, out.Close())
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// kindOf names a kind of file.
func kindOf(file string) string {
	if dir := filepath.Dir(file); dir != "." && filepath.Ext(file) != ".json" && filepath.Ext(file) != "" {
		return filepath.Join(dir, "*"+filepath.Ext(file))
	}
	return file
}
