package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/peer"
)

// A file of cluster secrets is read as it is meant, or not at all: a node that took a part of it, or one that
// others can read, would be less safe than its owner believes.
func TestClusterSecretFiles(t *testing.T) {
	key := func(c string, n int) string { return strings.Repeat(c, n) }
	least := key("a", peer.MinKey)
	for name, x := range map[string]struct {
		text string
		mode os.FileMode
		keys string // by their first letters
		says string
	}{
		"one":                  {least + "\n", 0o600, "a", ""},
		"without a line's end": {least, 0o400, "a", ""},
		"between blanks":       {"\n  " + least + " \r\n\n\t" + key("b", 50) + "\n\n", 0o600, "ab", ""},
		"as many as there may be": {least + "\n" + key("b", 40) + "\n" + key("c", 40) + "\n" + key("d", 40),
			0o600, "abcd", ""},
		"one more": {strings.Repeat(least+"\n", maxClusterSecrets+1), 0o600, "",
			"must have 1 to 4 secrets"},
		"none":              {"\n \n", 0o600, "", "must have 1 to 4 secrets"},
		"a short one":       {least + "\n" + key("b", peer.MinKey-1), 0o600, "", "secret 2 of "},
		"as long as can be": {least + "\n" + key("b", maxSecretFile-peer.MinKey-1), 0o600, "ab", ""},
		"a byte longer":     {least + "\n" + key("b", maxSecretFile-peer.MinKey), 0o600, "", "at most 4096 bytes"},
		"others read it":    {least, 0o604, "", "chmod 600"},
		"a group reads it":  {least, 0o640, "", "chmod 600"},
		"others write it":   {least, 0o602, "", "chmod 600"},
	} {
		var cfg config.Config
		cfg.ClusterSecret.File, cfg.ClusterSecret.Optional = filepath.Join(t.TempDir(), "secret"), true
		if err := os.WriteFile(cfg.ClusterSecret.File, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(cfg.ClusterSecret.File, x.mode); err != nil {
			t.Fatal(err)
		}
		s, err := readClusterSecret(&cfg)
		if x.says != "" {
			if s != nil || err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s: %v, want %q", name, err, x.says)
			}
			continue
		}
		if err != nil || !s.Optional {
			t.Errorf("%s: %v, %v", name, s, err)
			continue
		}
		got := ""
		for _, k := range s.Keys {
			got += string(k[:1])
			if strings.Trim(string(k), string(k[:1])) != "" {
				t.Errorf("%s: the secret is %q", name, k)
			}
		}
		if got != x.keys {
			t.Errorf("%s: the secrets are those of %q, want %q", name, got, x.keys)
		}
	}
	if s, err := readClusterSecret(new(config.Config)); s != nil || err != nil {
		t.Errorf("no file: %v, %v", s, err)
	}
	var missing config.Config
	missing.ClusterSecret.File = filepath.Join(t.TempDir(), "none")
	if _, err := readClusterSecret(&missing); err == nil || !strings.Contains(err.Error(), "openssl rand") {
		t.Errorf("a file that is not there: %v", err)
	}
}
