package bulk

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

const (
	maxLineBytes = 256 << 20 // of input
	queueBytes   = 64 << 20  // lines that were read and are not written yet
	batchCount   = 500       // messages of one append
	batchBytes   = 1 << 20   // payload of one append, unless a single message has more
)

// importer appends the sessions of a file. Several sessions are written at the
// same time; the lines of one session stay in order, since one worker has them.
type importer struct {
	c         *client.Client
	limits    turn.Limits
	workers   int
	keepGoing bool
	progress  *cli.Progress

	sessions, added, duplicates, failed atomic.Int64

	described atomic.Int64 // sessions whose metadata was set

	mu    sync.Mutex
	first error // the first failure, of a line or a session
}

// job is a line to write.
type job struct {
	number int
	size   int64
	jsonl.Line
}

func (im *importer) run(ctx context.Context, r io.Reader) error {
	in, err := plain(r)
	if err != nil {
		return cli.Usage(err)
	}
	group, ctx := errgroup.WithContext(ctx)
	memory := semaphore.NewWeighted(queueBytes)
	queues := make([]chan job, max(1, im.workers))
	for i := range queues {
		queues[i] = make(chan job, 4)
		group.Go(func() error {
			for j := range queues[i] {
				err := im.write(ctx, j)
				memory.Release(j.size)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, q := range queues {
				close(q)
			}
		}()
		return im.dispatch(ctx, in, memory, queues)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return im.first
}

// plain returns the text of r, unpacked if it is gzip.
func plain(r io.Reader) (*bufio.Reader, error) {
	br := bufio.NewReaderSize(r, 256<<10)
	magic, _ := br.Peek(2) // shorter input is no gzip
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return br, nil
	}
	z, err := gzip.NewReader(br)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(z, 256<<10), nil
}

// dispatch parses lines and hands each to the worker of its session.
func (im *importer) dispatch(ctx context.Context, in *bufio.Reader, memory *semaphore.Weighted,
	queues []chan job) error {
	seed := maphash.MakeSeed()
	for number := 1; ; number++ {
		text, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w; nothing of this line was written", number, err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l, err := im.parse(number, text)
		if err != nil {
			if im.fail(cli.Usagef("line %d: %w; nothing of this line was written", number, err)) {
				continue
			}
			return nil // the workers finish what came before
		}
		size := min(int64(len(text)), queueBytes)
		if err := memory.Acquire(ctx, size); err != nil {
			return err
		}
		worker := maphash.String(seed, l.Session) % uint64(len(queues))
		select {
		case queues[worker] <- job{number, size, l}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// outcome adds to the error of an import what was written all the same.
func (im *importer) outcome(err error) error {
	added, described := im.added.Load(), im.described.Load()
	if err == nil || added+described == 0 {
		return err
	}
	set := ""
	if described > 0 {
		set = ", and the metadata of " + cli.Plural(described, "session") + " was set"
	}
	return cli.Partly(err, "Before that, %s added%s. Run the same import again to go on: what is there "+
		"is recognised.", cli.Were(added, "message"), set)
}

// ImportTotals are what an import tells programs.
type ImportTotals struct {
	Sessions   int64 `json:"sessions"`
	Added      int64 `json:"messages_added"`
	Duplicates int64 `json:"duplicates"`
	Failed     int64 `json:"failed_lines"`
}

func (im *importer) totals() ImportTotals {
	return ImportTotals{im.sessions.Load(), im.added.Load(), im.duplicates.Load(), im.failed.Load()}
}

func (im *importer) summary() string {
	t := im.totals()
	return fmt.Sprintf("%s, %s added, %d there already, %s failed", cli.Plural(t.Sessions, "session"),
		cli.Plural(t.Added, "message"), t.Duplicates, cli.Plural(t.Failed, "line"))
}
