package auth

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors/descriptorstest"
)

// The users file is read again also when clients have all descriptors at the moment: else they
// could keep a user who was deleted.
func TestReloadWaitsForADescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nusers: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := Open(path, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		descriptorstest.None(t, time.Second)
		if err := u.Reload(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // the descriptors are back
	})
}
