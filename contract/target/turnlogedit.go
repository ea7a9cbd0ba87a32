package target

import (
	"context"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/turn"
)

func (s *turnlogStore) Edit(ctx context.Context, session, id string, m contract.Message) error {
	_, err := s.c.Session(session).Edit(ctx, turn.MessageRef{ID: id}, m.Encode())
	return mustExist(err)
}

func (s *turnlogStore) Labelled(ctx context.Context, name, value string) (keys []string, err error) {
	for found, err := range s.c.Labelled(ctx, turn.Label{Name: name, Value: value}) {
		if err != nil {
			return nil, translate(err)
		}
		keys = append(keys, found.Key.Name)
	}
	return keys, nil
}

func (s *turnlogStore) Retain(ctx context.Context, session string, keep int) error {
	_, err := s.c.Session(session).Retain(ctx, turn.Retention{Messages: uint64(keep)})
	return translate(err)
}

func (s *turnlogStore) Remove(ctx context.Context, session, id string) error {
	_, err := s.c.Session(session).Remove(ctx, turn.MessageRef{ID: id})
	return translate(err)
}
