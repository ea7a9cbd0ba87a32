package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/turn"
)

// What turnlog changes as a whole: appends with metadata, hashes, and transactions over them.

// mustExist translates the error of an append: a session that has to exist, and does not, is a condition
// that does not hold.
func mustExist(err error) error {
	if turn.KindOf(err) == turn.NotFound {
		return fmt.Errorf("%w: %w", contract.ErrConflict, err)
	}
	return translate(err)
}

func (s *turnlogStore) AddWith(
	ctx context.Context, session string, metadata map[string]string, must bool, ms ...contract.Message,
) error {
	to := s.c.Session(session).Setting(metadata)
	if must {
		to = to.Existing()
	}
	_, err := to.Append(ctx, newMessages(ms)...)
	return mustExist(err)
}

func (s *turnlogStore) LoadWith(ctx context.Context, session string) (
	[]contract.Message, map[string]string, error,
) {
	h, err := s.c.Session(session).WithMetadata().Read(ctx, turn.Read{From: turn.FromAfter})
	if err == nil && h.More {
		err = errors.New("the session is too long for one answer")
	}
	return messages(h.Messages), h.Metadata, translate(err)
}

// fieldsOf returns fields in the order of their names: a transaction that is sent again is the same one.
func fieldsOf(values map[string]string) []turn.Field {
	fields := make([]turn.Field, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, turn.Field{Name: name, Value: []byte(values[name])})
	}
	return fields
}

func (s *turnlogStore) SetState(ctx context.Context, key string, fields map[string]string) error {
	_, err := s.c.Hash(key).Set(ctx, fieldsOf(fields)...)
	return translate(err)
}

func (s *turnlogStore) State(ctx context.Context, key string) (map[string]string, error) {
	all, err := s.c.Hash(key).All(ctx)
	fields := make(map[string]string, len(all))
	for name, value := range all {
		fields[name] = string(value)
	}
	return fields, translate(err)
}

func (s *turnlogStore) Transact(ctx context.Context, id string, changes ...contract.Change) error {
	tx := s.c.Transaction().ID(id)
	for _, c := range changes {
		if err := addChange(tx, c); err != nil {
			return err
		}
	}
	_, err := tx.Commit(ctx)
	return translate(err)
}

// TransactSteps implements contract.Stepper.
func (s *turnlogStore) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) (popped []contract.Message, err error) {
	tx := s.c.Transaction().ID(id)
	for _, c := range conditions {
		if c.Version == "" {
			tx.IfAbsent(c.Session)
			continue
		}
		revision, err := strconv.ParseUint(c.Version, 10, 64)
		if err != nil {
			return nil, err
		}
		tx.IfRevision(c.Session, revision)
	}
	for _, st := range steps {
		addStep(tx, st)
	}
	r, err := tx.Commit(ctx)
	for _, st := range r.Steps {
		popped = append(popped, messages(st.Result.Messages)...)
	}
	if turn.Is(err, turn.NotFound) || turn.Is(err, turn.Exists) {
		return nil, fmt.Errorf("%w: %w", contract.ErrConflict, err)
	}
	return popped, translate(err)
}

func addStep(tx *client.Transaction, s contract.Step) {
	switch s.Do {
	case contract.StepSave:
		tx.Append(s.Session, newMessages(s.Turn)...)
	case contract.StepPop:
		tx.Pop(s.Session, s.N, turn.Newest)
	case contract.StepEdit:
		tx.Edit(s.Session, turn.MessageRef{ID: s.Turn[0].ID}, s.Turn[0].Encode())
	case contract.StepRemove:
		tx.Remove(s.Session, turn.MessageRef{ID: s.ID})
	case contract.StepReplace:
		tx.Replace(s.Session, uint64(s.N), newMessages(s.Turn)...)
	case contract.StepKeep:
		tx.Retain(s.Session, turn.Retention{Messages: uint64(s.N)})
	case contract.StepRename:
		tx.Rename(s.Session, s.To, false)
	case contract.StepDelete:
		tx.Delete(s.Session)
	}
}

func addChange(tx *client.Transaction, c contract.Change) error {
	if c.Version != "" {
		revision, err := strconv.ParseUint(c.Version, 10, 64)
		if err != nil {
			return err
		}
		tx.IfRevision(c.Session, revision)
	}
	if len(c.Turn) > 0 {
		tx.Append(c.Session, newMessages(c.Turn)...)
	}
	if len(c.Fields) > 0 {
		tx.SetFields(c.Session, fieldsOf(c.Fields)...)
	}
	return nil
}
