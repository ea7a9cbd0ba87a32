package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/client"
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
	progress  *progress

	sessions, added, duplicates, failed atomic.Int64

	mu    sync.Mutex
	first error // the first failure, of a line or a session
}

// job is a line to write.
type job struct {
	number int
	size   int64
	line
}

func (im *importer) run(ctx context.Context, r io.Reader) error {
	in, err := plain(r)
	if err != nil {
		return usageError{err: err}
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
func (im *importer) dispatch(ctx context.Context, in *bufio.Reader, memory *semaphore.Weighted, queues []chan job) error {
	seed := maphash.MakeSeed()
	for number := 1; ; number++ {
		text, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w; what came before it was written", number, err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l, err := im.parse(number, text)
		if err != nil {
			if im.fail(fmt.Errorf("line %d: %v; nothing of this line was written", number, err)) {
				continue
			}
			return nil // the workers finish what came before
		}
		size := min(int64(len(text)), queueBytes)
		if err := memory.Acquire(ctx, size); err != nil {
			return err
		}
		worker := maphash.String(seed, l.session) % uint64(len(queues))
		select {
		case queues[worker] <- job{number, size, l}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == io.EOF && len(text) > 0, err == nil:
			return text, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(text) > maxLineBytes:
			return nil, fmt.Errorf("is longer than %d MiB: split the session into several lines", maxLineBytes>>20)
		}
	}
}

// parse reads a line and checks it whole, so that a bad one leaves no trace.
func (im *importer) parse(number int, text []byte) (line, error) {
	l, err := parseLine(text)
	if err != nil {
		return l, err
	}
	seen := make(map[string]bool, len(l.messages))
	for i := range l.messages {
		m := &l.messages[i]
		if m.ID == "" {
			m.ID = derivedID(number, i, l.session, m.Data)
		}
		if seen[m.ID] {
			return l, fmt.Errorf("message %d: id %q stands twice in the line", i+1, m.ID)
		}
		seen[m.ID] = true
	}
	for b := range batches(l.messages) {
		op := &turn.Append{Key: turn.Key{Namespace: turn.DefaultNamespace, Name: l.session}, Messages: b}
		if err := op.Validate(im.limits); err != nil {
			return l, err
		}
	}
	return l, nil
}

// derivedID makes the id of a message that has none, the same for the same file.
func derivedID(number, i int, session string, data []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d %s", number, i, len(session), session)
	h.Write(data)
	return "import-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// batches cuts messages into appends.
func batches(ms []turn.NewMessage) func(yield func([]turn.NewMessage) bool) {
	return func(yield func([]turn.NewMessage) bool) {
		for start := 0; start < len(ms); {
			end, size := start, 0
			for end < len(ms) && end-start < batchCount && (end == start || size+len(ms[end].Data) <= batchBytes) {
				size += len(ms[end].Data)
				end++
			}
			if !yield(ms[start:end]) {
				return
			}
			start = end
		}
	}
}

// fail notes a failure that concerns one line, and reports whether to go on.
func (im *importer) fail(err error) bool {
	im.failed.Add(1)
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.first == nil {
		im.first = err
	}
	if im.keepGoing {
		fmt.Fprintf(im.progress.out, "turnlog: %v\n", err)
	}
	return im.keepGoing
}

// write stores one line. Its error ends the import.
func (im *importer) write(ctx context.Context, j job) error {
	err := im.store(ctx, j.line)
	if err == nil {
		im.sessions.Add(1)
		return nil
	}
	err = fmt.Errorf("line %d, session %q: %w", j.number, j.session, err)
	switch turn.KindOf(err) {
	case turn.Conflict, turn.IDReused, turn.WrongType, turn.TooLarge, turn.Invalid:
		if im.fail(err) {
			return nil
		}
	}
	return err
}

func (im *importer) store(ctx context.Context, l line) error {
	s := im.c.Session(l.session)
	todo, err := im.missing(ctx, s, l.messages)
	if err != nil {
		return err
	}
	for b := range batches(todo) {
		if err := im.append(ctx, s, b); err != nil {
			return err
		}
	}
	if len(l.meta) > 0 {
		_, err = s.SetMeta(ctx, l.meta)
	}
	return err
}

// append adds a batch. One that is known in part, because the file has grown
// since the last import, goes message by message.
func (im *importer) append(ctx context.Context, s client.Session, b []turn.NewMessage) error {
	r, err := s.Append(ctx, b...)
	if turn.Is(err, turn.Conflict) && len(b) > 1 {
		for i := range b {
			if err := im.append(ctx, s, b[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if r.Duplicate {
		im.duplicates.Add(int64(len(b)))
	} else {
		im.added.Add(int64(len(b)))
	}
	im.progress.items.Add(int64(len(b)))
	return nil
}

// missing returns the messages that have to be sent. The server recognises the
// ids of a session's last turn.IDWindow messages; in a session that had more,
// the stored ids are looked up first.
func (im *importer) missing(ctx context.Context, s client.Session, ms []turn.NewMessage) ([]turn.NewMessage, error) {
	h, err := s.Last(ctx, 1)
	if err != nil || h.Last <= turn.IDWindow {
		return ms, err
	}
	stored := map[string][sha256.Size]byte{} // id to hash of payload
	for m, err := range s.All(ctx, 0) {
		if err != nil {
			return nil, err
		}
		stored[m.ID] = sha256.Sum256(m.Data)
	}
	var todo []turn.NewMessage
	for _, m := range ms {
		sum, known := stored[m.ID]
		switch {
		case !known:
			todo = append(todo, m)
		case sum != sha256.Sum256(m.Data):
			return nil, turn.Errorf(turn.IDReused, "id %q is stored with another payload", m.ID)
		default:
			im.duplicates.Add(1)
			im.progress.items.Add(1)
		}
	}
	return todo, nil
}

type importTotals struct {
	Sessions   int64 `json:"sessions"`
	Added      int64 `json:"messages_added"`
	Duplicates int64 `json:"duplicates"`
	Failed     int64 `json:"failed_lines"`
}

func (im *importer) totals() importTotals {
	return importTotals{im.sessions.Load(), im.added.Load(), im.duplicates.Load(), im.failed.Load()}
}

func (im *importer) summary() string {
	t := im.totals()
	return fmt.Sprintf("%d sessions, %d messages added, %d there already, %d lines failed", t.Sessions, t.Added, t.Duplicates, t.Failed)
}
