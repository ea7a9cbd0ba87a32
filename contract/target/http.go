package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
	"github.com/turnlog/turnlog/turn"
)

func openHTTP(t *Target, u *url.URL) error {
	params, err := take(u, "namespace")
	if err != nil {
		return err
	}
	namespace := params["namespace"]
	if namespace == "" {
		namespace = turn.DefaultNamespace
	}
	open := func(_ context.Context, addr string) (contract.Store, error) {
		return &httpStore{c: &http.Client{Transport: new(http.Transport)}, addr: addr, namespace: namespace}, nil
	}
	t.Open = func(ctx context.Context) (contract.Store, error) { return open(ctx, u.Host) }
	t.Line = behind(proxy.HTTP{}, open, u.Host)
	t.Claims = contract.Claims{IDs: true, LateIDs: true, Linearizable: true, Bytes: true}
	return nil
}

// httpStore speaks to turnlog's HTTP API. Payloads go in base64, which is the
// form for any bytes.
type httpStore struct {
	c         *http.Client
	addr      string
	namespace string
}

type httpMessage struct {
	ID   string `json:"id,omitempty"`
	Data []byte `json:"data_base64"`
}

type httpAppend struct {
	Messages  []httpMessage     `json:"messages"`
	Expect    *uint64           `json:"expect,omitempty"`
	TTL       int64             `json:"ttl_ms,omitempty"`
	MustExist bool              `json:"must_exist,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

type httpHistory struct {
	Messages []struct {
		Seq  uint64 `json:"seq"`
		ID   string `json:"id"`
		Data []byte `json:"data_base64"`
	} `json:"messages"`
	Revision uint64            `json:"revision"`
	More     bool              `json:"more"`
	Metadata map[string]string `json:"metadata"`
}

// decoded are the messages with their ids.
func (h *httpHistory) decoded() (ms []contract.Message) {
	for _, m := range h.Messages {
		c := contract.Decode(m.Data)
		c.ID = m.ID
		ms = append(ms, c)
	}
	return ms
}

// call makes a request on a session. out may be nil.
func (s *httpStore) call(ctx context.Context, method, session, rest string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	path := "/sessions"
	if session != "" {
		path += "/" + url.PathEscape(session)
	}
	return s.send(ctx, method, path+rest, body, out)
}

// send makes a request to a path below the namespace. body and out may be nil.
func (s *httpStore) send(ctx context.Context, method, path string, body io.Reader, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://%s/v1/ns/%s%s", s.addr, s.namespace, path),
		body)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.GetBody = nil // so that the transport never sends it again by itself
	}
	res, err := s.c.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return httpError(res.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// httpError reads turnlog's errors. After an answer that is none, it is unknown
// whether it came from turnlog.
func httpError(status int, text []byte) error {
	var e struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &e) == nil {
		if k, ok := turn.ParseKind(e.Error.Code); ok {
			return translate(turn.Errorf(k, "%s", e.Error.Message))
		}
	}
	return fmt.Errorf("status %d: %s", status, text)
}

func (s *httpStore) add(ctx context.Context, session string, a httpAppend, ms []contract.Message) error {
	for _, m := range ms {
		a.Messages = append(a.Messages, httpMessage{ID: m.ID, Data: m.Encode()})
	}
	return s.call(ctx, "POST", session, "/messages", a, nil)
}

func (s *httpStore) Add(ctx context.Context, session string, ms ...contract.Message) error {
	return s.add(ctx, session, httpAppend{}, ms)
}

func (s *httpStore) AddTTL(ctx context.Context, session string, ttl time.Duration, ms ...contract.Message) error {
	return s.add(ctx, session, httpAppend{TTL: ttl.Milliseconds()}, ms)
}

func (s *httpStore) AddIf(ctx context.Context, session, version string, ms ...contract.Message) error {
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return err
	}
	return s.add(ctx, session, httpAppend{Expect: &revision}, ms)
}

func (s *httpStore) AddAsync(ctx context.Context, session string, ms ...contract.Message) <-chan error {
	return contract.Goroutine(ctx, s, session, ms...)
}

func (s *httpStore) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	return contract.GoroutineLoad(ctx, s, session)
}

func (s *httpStore) ClearAsync(ctx context.Context, session string) <-chan error {
	return contract.GoroutineClear(ctx, s, session)
}

// LoadVersion reads page by page until all pages are of one revision.
func (s *httpStore) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	for {
		ms, version, whole, err := s.pages(ctx, session)
		if whole || err != nil {
			return ms, version, err
		}
	}
}

func (s *httpStore) pages(ctx context.Context,
	session string) (all []contract.Message, version string, whole bool, err error) {
	for after := uint64(0); ; {
		var h httpHistory
		rest := fmt.Sprintf("/messages?after=%d&limit=10000&encoding=base64", after)
		if err := s.call(ctx, "GET", session, rest, nil, &h); err != nil {
			return nil, "", false, err
		}
		now := strconv.FormatUint(h.Revision, 10)
		if version != "" && version != now {
			return nil, "", false, nil
		}
		version = now
		all = append(all, h.decoded()...)
		if !h.More {
			return all, version, true, nil
		}
		for _, m := range h.Messages {
			after = m.Seq
		}
	}
}

func (s *httpStore) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, _, err := s.LoadVersion(ctx, session)
	return ms, err
}

func (s *httpStore) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	var h httpHistory
	if err := s.call(ctx, "GET", session, fmt.Sprintf("/messages?last=%d&encoding=base64", n), nil, &h); err != nil {
		return nil, err
	}
	return h.decoded(), nil
}

func (s *httpStore) Clear(ctx context.Context, session string) error {
	return absent(s.call(ctx, "POST", session, "/clear", struct{}{}, nil))
}

func (s *httpStore) Delete(ctx context.Context, session string) error {
	return absent(s.call(ctx, "DELETE", session, "", nil, nil))
}

func (s *httpStore) Trim(ctx context.Context, session string, keep int) error {
	return absent(s.call(ctx, "POST", session, "/trim", map[string]int{"keep_last": keep}, nil))
}

func (s *httpStore) Retain(ctx context.Context, session string, keep int) error {
	return s.call(ctx, "POST", session, "/retain", map[string]int{"messages": keep}, nil)
}

func (s *httpStore) Pop(ctx context.Context, session string) (contract.Message, bool, error) {
	var h httpHistory
	err := s.call(ctx, "POST", session, "/pop?encoding=base64", map[string]int{"count": 1}, &h)
	if err != nil || len(h.Messages) == 0 {
		return contract.Message{}, false, absent(err)
	}
	return contract.Decode(h.Messages[0].Data), true, nil
}

// httpSession is a session in a list.
type httpSession struct {
	Key       string `json:"key"`
	KeyBase64 []byte `json:"key_base64"`
	Count     uint64 `json:"count"`
}

func (s *httpStore) Sessions(ctx context.Context, prefix string) ([]string, error) {
	return s.listed(ctx, url.Values{"prefix": {prefix}}, func(found httpSession) bool { return found.Count > 0 })
}

// listed are the keys of the sessions that a list has and wanted says yes to.
func (s *httpStore) listed(
	ctx context.Context, q url.Values, wanted func(httpSession) bool,
) (keys []string, err error) {
	for q.Set("limit", "1000"); ; {
		var page struct {
			Sessions []httpSession `json:"sessions"`
			Cursor   string        `json:"cursor"`
		}
		if err := s.call(ctx, "GET", "", "?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, found := range page.Sessions {
			if found.Key == "" {
				found.Key = string(found.KeyBase64)
			}
			if wanted(found) {
				keys = append(keys, found.Key)
			}
		}
		if page.Cursor == "" {
			return keys, nil
		}
		q.Set("cursor", page.Cursor)
	}
}

func (s *httpStore) Namespace(_ context.Context, name string) (contract.Store, error) {
	return &httpStore{c: &http.Client{Transport: new(http.Transport)}, addr: s.addr, namespace: name}, nil
}

func (s *httpStore) Close() error {
	s.c.CloseIdleConnections()
	return nil
}
