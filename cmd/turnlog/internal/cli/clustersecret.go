package cli

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/turnlog/turnlog/internal/peer"
)

// MakeClusterSecret writes a new secret, unless the file exists.
func MakeClusterSecret(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	key := make([]byte, peer.MinKey)
	_, _ = rand.Read(key) // cannot fail
	_, err = fmt.Fprintln(f, hex.EncodeToString(key))
	return errors.Join(err, f.Close())
}
