package identity

import (
	"log/slog"
	"testing"

	"github.com/turnlog/turnlog/internal/smallfile/copytest"
)

func TestDamagedIdentityIsMended(t *testing.T) {
	dir := t.TempDir()
	i, err := Open(dir, "n1", "as told", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := i.LearnCluster("c"); err != nil {
		t.Fatal(err)
	}
	copytest.Check(t, i.path, func() (any, error) {
		i, err := Open(dir, "n1", "as told", slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		return i.v, nil
	})
}
