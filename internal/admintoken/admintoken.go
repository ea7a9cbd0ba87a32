// Package admintoken authorises administration of a node that has no users: by a random token, which the node draws at
// each start and writes to a file of its data directory that only the owner may read.
package admintoken

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
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
//
// The token ends with the address at which the node listens, so that a process that has it
// can see to whom it may be shown.
func Write(dir string, at net.Addr) (token, path string, err error) {
	if path, err = filepath.Abs(filepath.Join(dir, Name)); err != nil {
		return "", "", err
	}
	token = rand.Text() + "@" + at.String()
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

// Read returns the token in a file, and the address of the node that it is for: it
// must be shown to no other server. The server that named the file may be an impostor; what does
// not look as Write made it is refused.
func Read(file string) (token string, at netip.AddrPort, err error) {
	if filepath.Base(file) != Name {
		return "", at, fmt.Errorf("%q is not an admin token file", file)
	}
	info, err := os.Lstat(file)
	if err != nil {
		return "", at, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", at, fmt.Errorf("%s is not a file that a node made: it is not a regular file, or others may read it",
			file)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", at, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return "", at, errors.Join(fmt.Errorf("%s has been replaced", file), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 257))
	if err != nil {
		return "", at, err
	}
	token, ended := strings.CutSuffix(string(text), "\n")
	secret, addr, _ := strings.Cut(token, "@")
	at, err = netip.ParseAddrPort(addr)
	if !ended || err != nil || len(secret) < len(rand.Text()) ||
		strings.Trim(secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", at, fmt.Errorf("%s does not hold what a node writes there", file)
	}
	return token, at, nil
}

// Authorize proves to the node whose data directory is dir that req may
// administer it. A node that has no token there, as one of an older version, is
// sent none.
func Authorize(req *http.Request, dir string) {
	if token, _, err := Read(filepath.Join(dir, Name)); err == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
}
