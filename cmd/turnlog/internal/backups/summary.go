package backups

import (
	"fmt"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
)

// summary is a line about a backup, whose words may be anyone's.
func summary(d *backup.Description, s *backup.Summary, size int64) string {
	return fmt.Sprintf("cluster %s at log entry %d, %s: %s with %s, %s, %s",
		cli.Printable([]byte(s.ClusterID)), s.Index, d.Created.Format(time.RFC3339),
		cli.Plural(s.Sessions, "session"), cli.Plural(s.Messages, "message"), cli.Plural(s.Values, "other value"),
		cli.Plural(size, "byte"))
}
