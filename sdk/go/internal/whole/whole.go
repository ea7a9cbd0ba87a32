// Package whole reads conversations that may have more messages than one answer.
package whole

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// Read returns all messages of a session as they were together, and the revision of then. It reads from the newest page
// back, so that messages which are appended in the meantime do not matter. If others were removed, it begins again.
func Read(ctx context.Context, s client.Session) (client.History, error) {
	for {
		newest, err := s.Last(ctx, 0)
		pages := [][]turn.Message{newest.Messages}
		for page := newest; err == nil && page.More && len(page.Messages) > 0; {
			page, err = s.Read(ctx, turn.Read{From: turn.FromBefore, Seq: page.Messages[0].Seq})
			if err == nil && !onlyGrew(&newest, &page) {
				pages = nil
				break
			}
			pages = append(pages, page.Messages)
		}
		if err != nil {
			return client.History{}, err
		}
		if pages != nil {
			slices.Reverse(pages)
			newest.Messages, newest.More = slices.Concat(pages...), false
			return newest, nil
		}
	}
}

// onlyGrew reports whether nothing but appends took place between two reads of a session.
func onlyGrew(first, later *client.History) bool {
	return first.Incarnation == later.Incarnation && first.First == later.First &&
		first.Last-first.Count == later.Last-later.Count
}
