package backups

import (
	"fmt"
	"time"

	"github.com/turnlog/turnlog/internal/backup"
)

// summary is a line about a backup.
func summary(d *backup.Description, s *backup.Summary, size int64) string {
	return fmt.Sprintf("cluster %s at log entry %d, %s: %d sessions with %d messages, %d other values, %d bytes",
		s.ClusterID, s.Index, d.Created.Format(time.RFC3339), s.Sessions, s.Messages, s.Values, size)
}
