package backups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// writeMetrics replaces a file by what Prometheus's node exporter takes from it, of a backup that was completed. A
// reader finds the old file or the new one.
func writeMetrics(file string, d *taken) error {
	cluster := strconv.Quote(d.ClusterID) // it is hexadecimal, but a damaged one could be anything
	text := ""
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"last_success_timestamp_seconds", "Unix time as of which the last complete backup was begun.",
			float64(d.Created.UnixMilli()) / float64(time.Second/time.Millisecond)},
		{"duration_seconds", "How long the last complete backup took.", d.Seconds},
		{"state_bytes", "Bytes of state in the last complete backup.", float64(d.Bytes)},
		{"stored_bytes", "Bytes that the last complete backup wrote.", float64(d.Size)},
	} {
		text += fmt.Sprintf("# HELP turnlog_backup_%[1]s %[2]s\n# TYPE turnlog_backup_%[1]s gauge\n"+
			"turnlog_backup_%[1]s{cluster=%[3]s} %[4]s\n", m.name, m.help, cluster,
			strconv.FormatFloat(m.value, 'f', -1, 64))
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*") // not .prom, which would be read
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close()) // the exporter is another user
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
