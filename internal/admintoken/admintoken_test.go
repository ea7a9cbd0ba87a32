package admintoken

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadsWhatWasWritten(t *testing.T) {
	token, path, err := Write(t.TempDir(), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7380})
	if err != nil {
		t.Fatal(err)
	}
	got, at, err := Read(path)
	if err != nil || got != token || at.String() != "127.0.0.1:7380" {
		t.Errorf("%q at %s, %v; want %q", got, at, err, token)
	}
}

// TestReadsNothingElse: an impostor may name any file.
func TestReadsNothingElse(t *testing.T) {
	const secret = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for name, text := range map[string]string{
		"another secret": secret + "\n", "no address": secret + "@\n", "a name": secret + "@localhost:1\n",
		"too short":  "ABC@127.0.0.1:1\n",
		"more lines": "x\n" + secret + "@127.0.0.1:1\n", "other letters": strings.ToLower(secret) + "@127.0.0.1:1\n",
		"cut":      secret + "@127.0.0.1:1",
		"too long": strings.Repeat(secret, 10) + "@127.0.0.1:1\n", "nothing": "",
	} {
		file := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := Read(file); err == nil {
			t.Errorf("%s: %q is taken for a token", name, got)
		}
	}
	_, path, err := Write(t.TempDir(), &net.TCPAddr{IP: net.IPv6loopback, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), Name)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{link, path, path + "2", filepath.Dir(path)} {
		if got, _, err := Read(file); err == nil {
			t.Errorf("%s: %q is taken for a token", file, got)
		}
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if got, _, err := Read(path); err == nil {
		t.Errorf("others may read %q", got)
	}
}
