package node

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/peer"
)

const (
	maxSecretFile     = 4 << 10
	maxClusterSecrets = 4
)

// readClusterSecret returns the secrets in a file, one a line, nil if there is none.
func readClusterSecret(cfg *config.Config) (*peer.Secret, error) {
	if cfg.ClusterSecret.File == "" {
		return nil, nil
	}
	const advice = "`(umask 077; openssl rand -hex 32 > FILE)` makes one"
	f, err := os.Open(cfg.ClusterSecret.File)
	if err != nil {
		return nil, fmt.Errorf("cluster secret: %w; %s", err, advice)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cluster secret: %w", err)
	}
	if !auth.Private(info) {
		return nil, fmt.Errorf("cluster secret: others on this machine may read or write %s: chmod 600 it, and make "+
			"a new one if they may have", f.Name())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return nil, fmt.Errorf("cluster secret: %w", err)
	}
	s := &peer.Secret{Optional: cfg.ClusterSecret.Optional}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.Keys = append(s.Keys, line)
		}
	}
	if n := len(s.Keys); n == 0 || n > maxClusterSecrets || len(text) > maxSecretFile {
		return nil, fmt.Errorf("cluster secret: %s must have 1 to %d secrets, each in a line, and at most %d bytes",
			f.Name(), maxClusterSecrets, maxSecretFile)
	}
	for i, key := range s.Keys {
		if len(key) < peer.MinKey {
			return nil, fmt.Errorf("cluster secret: secret %d of %s has less than %d characters; %s", i+1, f.Name(),
				peer.MinKey, advice)
		}
	}
	return s, nil
}
