package backup_test

import (
	"testing"

	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/backup/storagetest"
)

func TestFolderIsAStorage(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) backup.Storage { return backup.NewFolder(t.TempDir()) })
}
