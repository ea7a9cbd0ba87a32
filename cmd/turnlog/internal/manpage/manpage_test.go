package manpage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
)

// TestPage: text that groff would take for its own is shown as it is, indented lines keep their form, and
// nothing that is hidden is shown.
func TestPage(t *testing.T) {
	root := &cobra.Command{Use: "prog", Short: "Does things"}
	sub := &cobra.Command{Use: "run FILE", Short: "Run a file", Run: func(*cobra.Command, []string) {},
		Long: "Run a file:\n  a  C:\\dir\n\n.hidden files, too", Example: "  prog run 'x'"}
	sub.Flags().IntP("count", "c", 3, "how `often`,\nat most")
	sub.Flags().Bool("fast", false, "do not wait")
	sub.Flags().String("secret", "", "not for users")
	if err := sub.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	hidden := &cobra.Command{Use: "internal", Hidden: true, Run: sub.Run}
	root.AddCommand(sub, hidden)
	dir := filepath.Join(t.TempDir(), "man")
	if err := Write(root, dir, "v1"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "prog-run.1"))
	const want = `.TH "PROG-RUN" 1 "" "turnlog v1" "turnlog"
.SH NAME
prog\-run \- Run a file
.SH SYNOPSIS
.B prog run FILE [flags]
.SH DESCRIPTION
Run a file:
.PP
.nf
  a  C:\edir
.fi
.PP
\&.hidden files, too
.SH OPTIONS
.TP
\fB\-c\fR, \fB\-\-count\fR \fIoften\fR
how often, at most (default 3)
.TP
\fB\-\-fast\fR
do not wait
.SH GLOBAL OPTIONS
\fBprog\fR(1) has those that all commands share.
.SH EXAMPLES
.PP
.nf
  prog run 'x'
.fi
.SH SEE ALSO
\fBprog\fR(1)
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
