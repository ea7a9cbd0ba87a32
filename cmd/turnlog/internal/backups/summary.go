package backups

import (
	"fmt"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
)

// summary is a line about a backup, whose words may be anyone's.
func summary(d *backup.Description, s *backup.Summary, size int64) string {
	return fmt.Sprintf("cluster %s at log entry %d, %s: %d sessions with %d messages, %d other values, %d bytes",
		cli.Printable([]byte(s.ClusterID)), s.Index, d.Created.Format(time.RFC3339), s.Sessions, s.Messages, s.Values,
		size)
}
