package bulk

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

// How an import writes lines.

// write stores one line. Its error ends the import.
func (im *importer) write(ctx context.Context, j job) error {
	err := im.store(ctx, j.Line)
	if err == nil {
		im.sessions.Add(1)
		return nil
	}
	err = fmt.Errorf("line %d, session %q: %w", j.number, j.Session, err)
	switch turn.KindOf(err) {
	case turn.Conflict, turn.IDReused, turn.WrongType, turn.TooLarge, turn.Invalid:
		if im.fail(err) {
			return nil
		}
	}
	return err
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
		im.progress.Report(err)
	}
	return im.keepGoing
}

func (im *importer) store(ctx context.Context, l jsonl.Line) error {
	s := im.c.Session(l.Session)
	todo, err := im.missing(ctx, s, l.Messages)
	if err != nil {
		return err
	}
	for b := range batches(todo) {
		if err := im.append(ctx, s, b); err != nil {
			return err
		}
	}
	if l.Keep != (turn.Retention{}) {
		if _, err := s.Retain(ctx, l.Keep); err != nil {
			return err
		}
	}
	if len(l.Meta) == 0 {
		return nil
	}
	if _, err = s.SetMetadata(ctx, l.Meta); err == nil {
		im.described.Add(1)
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
	im.progress.Add(len(b))
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
			im.progress.Add(1)
		}
	}
	return todo, nil
}
