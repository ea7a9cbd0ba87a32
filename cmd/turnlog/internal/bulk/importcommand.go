package bulk

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func importCommand(a *cli.App) *cobra.Command {
	im := &importer{limits: turn.DefaultLimits()}
	mv := &mover{App: a, command: "import"}
	cmd := &cobra.Command{
		Use:   "import (FILE | - | redis://[USER@]HOST[:PORT][/DATABASE])",
		Short: "Append the sessions of a JSON-lines file, or copy a Redis",
		Long: `Import reads one session a line, plain or gzip:

  {"session":"alice","messages":[{"id":"q1","data":{…}}, {"id":"a1","data_base64":"…"}]}
  {"session":"bob","messages":[{"role":"user","content":"hi","id":"b#0"}, …]}

A message is what export writes, or any other object, which is stored whole, byte
for byte, under its own "id". Running the same import again adds nothing: ids
tell what is there already, and a message without one gets an id made of its
place in the file and its content.

A bad line is reported with its number and nothing of it is written; the import
ends there with status 2, unless --keep-going is given. What was written before stays.

From a Redis (rediss:// for TLS; its password in TURNLOG_REDIS_PASSWORD or in
--redis-password-file) it takes lists, strings, hashes, sets, sorted sets
and streams, with their deadlines, into the namespace given by --namespace. Lists
become sessions. Then it compares every key, content and deadline, and names what
changed in Redis meanwhile. Nothing in Redis is changed.

If it is interrupted, run it again: what has arrived is recognised, and a long value
that arrived in part is completed. A key that holds something else here is
left alone and reported, unless --replace is given. Types of Redis modules and
consumer groups cannot be moved and are named. A value of more than 500 elements or
64 KiB can be seen incomplete while it arrives: let agents write here only when the
import is done.`,
		Example: `  turnlog import conversations.jsonl.gz
  turnlog export | turnlog --addr 10.0.0.7:7379 import -
  turnlog import redis://10.0.0.5:6379/0 --dry-run
  turnlog import redis://10.0.0.5:6379/0 --newest-first 'message_store:*'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isRedisURL(args[0]) {
				mv.cfg.Workers = im.workers
				return mv.importFrom(args[0])
			}
			if err := mv.refuseFlags(cmd); err != nil {
				return err
			}
			in, size, err := openInput(a, args[0])
			if err != nil {
				return cli.Usage(err)
			}
			defer in.Close()
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				im.c = c
				var counted cli.Counter
				im.progress = cli.NewProgress(a.Stderr, "import", size, counted.Count)
				err := im.run(ctx, io.TeeReader(in, &counted))
				im.progress.Finish(im.summary())
				err = im.outcome(err)
				if a.JSON {
					if werr := a.WriteJSON(im.totals()); err == nil {
						err = werr
					}
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&im.keepGoing, "keep-going", false,
		"report bad lines and rejected sessions, and continue with the next")
	cmd.Flags().IntVar(&im.workers, "workers", 16, "sessions, or batches of keys, that are written at the same time")
	mv.register(cmd)
	return cmd
}

func (m *mover) importFrom(url string) error {
	source, err := m.redisPlace(url)
	if err != nil {
		return err
	}
	limits := turn.DefaultLimits()
	m.cfg.Limits = &limits
	target, err := turnlogPlace(m.App)
	if err != nil {
		return err
	}
	return m.run(source, target)
}

// openInput returns the file and its size, 0 if that is not known.
func openInput(a *cli.App, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(a.Stdin), 0, nil
	}
	if strings.Contains(name, "://") {
		return nil, 0, fmt.Errorf("%s: only files and redis:// or rediss:// can be imported", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		f.Close()
		return nil, 0, fmt.Errorf("%s is not a file", name)
	}
	return f, info.Size(), nil
}
