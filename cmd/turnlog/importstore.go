package main

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// How an import writes lines.

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
	if len(l.meta) == 0 {
		return nil
	}
	if _, err = s.SetMetadata(ctx, l.meta); err == nil {
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
