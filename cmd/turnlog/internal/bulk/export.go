package bulk

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

// chunkBytes is how much text of a session is handed over at once.
const chunkBytes = 256 << 10

// exporter writes sessions in key order. Several are read ahead at the same time;
// each is a stream of chunks, so that a long session is never in memory whole.
type exporter struct {
	c        *client.Client
	prefix   string
	workers  int
	progress *cli.Progress
	sessions int
}

func (ex *exporter) run(ctx context.Context, out io.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	streams := make(chan chan []byte, max(1, ex.workers)) // in key order
	group.Go(func() error {
		defer close(streams)
		return ex.readAll(ctx, streams)
	})
	group.Go(func() error { return writeAll(ctx, streams, out) })
	return group.Wait()
}

// readAll begins a stream for each session.
func (ex *exporter) readAll(ctx context.Context, streams chan<- chan []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, ex.workers))
	for s, err := range ex.c.Sessions(ctx, ex.prefix) {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		stream := make(chan []byte, 1)
		select {
		case streams <- stream:
		case <-ctx.Done():
			return group.Wait()
		}
		ex.sessions++
		group.Go(func() error { return ex.readSession(ctx, s, stream) })
	}
	return group.Wait()
}

// readSession sends the line of one session. The stream is closed only when the
// line is complete.
func (ex *exporter) readSession(ctx context.Context, s turn.Session, stream chan<- []byte) error {
	buf := jsonl.AppendLineStart(nil, s.Key.Name, s.Metadata, s.Retention)
	separate := false
	for m, err := range ex.c.Session(s.Key.Name).All(ctx, 0) {
		if err != nil {
			return err
		}
		if separate {
			buf = append(buf, ',')
		}
		separate = true
		buf = jsonl.AppendMessage(buf, &m)
		ex.progress.Add(1)
		if len(buf) >= chunkBytes {
			select {
			case stream <- buf:
			case <-ctx.Done():
				return ctx.Err()
			}
			buf = nil
		}
	}
	select {
	case stream <- append(buf, "]}\n"...):
	case <-ctx.Done():
		return ctx.Err()
	}
	close(stream)
	return nil
}

func writeAll(ctx context.Context, streams <-chan chan []byte, out io.Writer) error {
	for stream := range streams {
		for open := true; open; {
			var chunk []byte
			select {
			case chunk, open = <-stream:
			case <-ctx.Done():
				return ctx.Err()
			}
			if _, err := out.Write(chunk); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}
