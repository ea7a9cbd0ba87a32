// Package admintoken holds the proof that a request for administration comes
// from somebody who may read a node's files: a token, drawn at each start of a node
// without users, in a file of its data directory that only its owner may read.
package admintoken

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Name is the name of the file in the data directory.
const Name = "admin-token"

// FileHeader is the header of a refusal that names the file.
const FileHeader = "Turnlog-Admin-Token-File"

// Write draws a token and writes it to the data directory dir, in the place of an
// older one. It returns the token and the absolute path of its file.
func Write(dir string) (token, path string, err error) {
	if path, err = filepath.Abs(filepath.Join(dir, Name)); err != nil {
		return "", "", err
	}
	token = rand.Text()
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", "", err
	}
	_, err = f.WriteString(token + "\n")
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return "", "", err
	}
	return token, path, os.Rename(temp, path)
}

// Read returns the token in a file that somebody named who may be an impostor: it
// reads nothing that Write could not have written.
func Read(file string) (string, error) {
	if filepath.Base(file) != Name {
		return "", fmt.Errorf("%q is no file of an admin token", file)
	}
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > 256 {
		return "", fmt.Errorf("%s is not a file that a node made: others may read it, or it is too large", file)
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}

// Authorize proves to the node whose data directory is dir that req may
// administer it. A node that has no token there, as one of an older version, is
// sent none.
func Authorize(req *http.Request, dir string) {
	if token, err := Read(filepath.Join(dir, Name)); err == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
}
