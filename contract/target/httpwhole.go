package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/turnlog/turnlog/contract"
)

// What turnlog changes as a whole, over HTTP: appends with metadata, single messages, hashes, and
// transactions over them.

func (s *httpStore) AddWith(
	ctx context.Context, session string, metadata map[string]string, must bool, ms ...contract.Message,
) error {
	return mustExist(s.add(ctx, session, httpAppend{Metadata: metadata, MustExist: must}, ms))
}

func (s *httpStore) LoadWith(ctx context.Context, session string) (
	[]contract.Message, map[string]string, error,
) {
	var h httpHistory
	err := s.call(ctx, "GET", session, "/messages?after=0&limit=10000&metadata=true&encoding=base64", nil, &h)
	if err == nil && h.More {
		err = errors.New("the session is too long for one answer")
	}
	return h.decoded(), h.Metadata, err
}

func (s *httpStore) Edit(ctx context.Context, session, id string, m contract.Message) error {
	return mustExist(s.call(ctx, "POST", session, "/edit", httpMessage{ID: id, Data: m.Encode()}, nil))
}

func (s *httpStore) Remove(ctx context.Context, session, id string) error {
	return s.call(ctx, "POST", session, "/remove", map[string]string{"id": id}, nil)
}

func (s *httpStore) Labelled(ctx context.Context, name, value string) ([]string, error) {
	return s.listed(ctx, url.Values{"label": {name + "=" + value}}, func(httpSession) bool { return true })
}

// httpField is a field of a hash.
type httpField struct {
	Name string `json:"name"`
	Data []byte `json:"data_base64"`
}

func httpFields(values map[string]string) []httpField {
	var fields []httpField
	for _, f := range fieldsOf(values) {
		fields = append(fields, httpField{f.Name, f.Value})
	}
	return fields
}

func (s *httpStore) SetState(ctx context.Context, key string, fields map[string]string) error {
	text, err := json.Marshal(map[string]any{"fields": httpFields(fields)})
	if err != nil {
		return err
	}
	return s.send(ctx, "PATCH", "/hashes/"+url.PathEscape(key), bytes.NewReader(text), nil)
}

func (s *httpStore) State(ctx context.Context, key string) (map[string]string, error) {
	all, q := map[string]string{}, url.Values{"encoding": {"base64"}}
	for {
		var page struct {
			Fields []httpField `json:"fields"`
			Cursor string      `json:"cursor"`
		}
		if err := s.send(ctx, "GET", "/hashes/"+url.PathEscape(key)+"?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, f := range page.Fields {
			all[f.Name] = string(f.Data)
		}
		if page.Cursor == "" {
			return all, nil
		}
		q.Set("cursor", page.Cursor)
	}
}

// Transact implements contract.Transactor.
func (s *httpStore) Transact(ctx context.Context, id string, changes ...contract.Change) error {
	conditions, steps := []map[string]any{}, []map[string]any{} // null is no condition
	for _, c := range changes {
		if c.Version != "" {
			revision, err := strconv.ParseUint(c.Version, 10, 64)
			if err != nil {
				return err
			}
			conditions = append(conditions, map[string]any{"key": c.Session, "revision": revision})
		}
		if len(c.Turn) > 0 {
			steps = append(steps, httpStep(contract.Step{Do: contract.StepSave, Session: c.Session, Turn: c.Turn}))
		}
		if len(c.Fields) > 0 {
			steps = append(steps, map[string]any{
				"set_fields": map[string]any{"key": c.Session, "fields": httpFields(c.Fields)}})
		}
	}
	_, err := s.transact(ctx, id, conditions, steps)
	return err
}
