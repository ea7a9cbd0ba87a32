package workload

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

// httpAPI speaks the HTTP API as its reference describes it.
type httpAPI struct {
	base   string
	entry  testcluster.Entry
	client *http.Client
}

func newHTTPAPI(addr string, entry testcluster.Entry) *httpAPI {
	scheme := "http://"
	if entry.TLS != nil {
		scheme = "https://"
	}
	return &httpAPI{base: scheme + addr, entry: entry, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
		TLSClientConfig:     entry.TLS,
	}}}
}

func (d *httpAPI) Close() { d.client.CloseIdleConnections() }

// request is a call in HTTP's terms.
type request struct {
	method, path string // path below the session
	query        url.Values
	body         map[string]any
}

func (d *httpAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	r, err := translate(c)
	if err != nil {
		return history.Result{}, err
	}
	body, err := d.send(ctx, key, r)
	if err != nil {
		return history.Result{}, err
	}
	defer body.Close()
	var a httpAnswer
	if err := json.NewDecoder(body).Decode(&a); err != nil {
		return history.Result{}, turn.Errorf(outcomeOf(r), "answer cannot be read: %v", err)
	}
	return a.result(c), nil
}

func translate(c *history.Call) (*request, error) {
	r := &request{method: http.MethodPost, body: map[string]any{}, query: url.Values{}}
	if c.Expect != nil {
		r.body["expect"] = *c.Expect
	}
	switch c.Func {
	case history.Read:
		r.method, r.path, r.body = http.MethodGet, "/messages", nil
		readQuery(r.query, c)
	case history.Append:
		r.path = "/messages"
		r.body["messages"] = httpMessages(c)
		if c.TTL > 0 {
			r.body["ttl_ms"] = c.TTL
		}
	case history.Replace:
		r.path = "/replace"
		r.body["from"], r.body["messages"] = c.Seq, httpMessages(c)
	case history.Pop:
		r.path = "/pop"
		r.body["count"] = c.N
	case history.Trim:
		r.path = "/trim"
		r.body["keep_last"] = c.N
	case history.Clear:
		r.path = "/clear"
	case history.Delete:
		r.method, r.body = http.MethodDelete, nil
	default:
		return nil, unsupported(HTTP, c)
	}
	return r, nil
}

func readQuery(q url.Values, c *history.Call) {
	number := func(name string, n uint64) { q.Set(name, strconv.FormatUint(n, 10)) }
	switch {
	case c.Latest && c.N > 0:
		number("last", c.N)
	case !c.Latest:
		number("after", c.Seq)
		if c.N > 0 {
			number("limit", c.N)
		}
	}
	if c.Whole {
		q.Set("whole", "true")
	}
	if c.Since != 0 {
		number("since", uint64(c.Since))
	}
	if c.Until != 0 {
		number("until", uint64(c.Until))
	}
	switch {
	case c.MaxAge > 0:
		q.Set("consistency", "bounded")
		number("max_age_ms", uint64(c.MaxAge))
	case c.Stale:
		q.Set("consistency", "stale")
	}
}

func httpMessages(c *history.Call) []map[string]any {
	var out []map[string]any
	for _, v := range c.Values {
		m := map[string]any{"data": json.RawMessage(payload(v))}
		if c.IDs {
			m["id"] = v
		}
		out = append(out, m)
	}
	return out
}

// httpAnswer has the fields of all answers.
type httpAnswer struct {
	FirstSeq    uint64        `json:"first_seq"`
	LastSeq     uint64        `json:"last_seq"`
	Revision    uint64        `json:"revision"`
	Count       uint64        `json:"count"`
	Removed     uint64        `json:"removed"`
	Incarnation uint64        `json:"incarnation"`
	Duplicate   bool          `json:"duplicate"`
	More        bool          `json:"more"`
	Messages    []httpMessage `json:"messages"`
}

type httpMessage struct {
	Seq        uint64          `json:"seq"`
	Time       int64           `json:"time"`
	ID         string          `json:"id"`
	Data       json.RawMessage `json:"data"`
	DataBase64 []byte          `json:"data_base64"`
}

func (m *httpMessage) message() history.Message {
	data := []byte(m.Data)
	if data == nil {
		data = m.DataBase64
	}
	return history.Message{Seq: m.Seq, Value: checkedToken(m.ID, data)}
}

// result takes from the answer what belongs to the call.
func (a *httpAnswer) result(c *history.Call) history.Result {
	r := history.Result{Revision: a.Revision}
	for i := range a.Messages {
		m := a.Messages[i].message()
		if c.Timed {
			m.Time = a.Messages[i].Time
		}
		r.Messages = append(r.Messages, m)
	}
	switch c.Func {
	case history.Read:
		r.Last, r.Count, r.More, r.Incarnation = a.LastSeq, a.Count, a.More, a.Incarnation
	case history.Append, history.Replace:
		r.First, r.Last, r.Count, r.Duplicate, r.Removed = a.FirstSeq, a.LastSeq, a.Count, a.Duplicate, a.Removed
	case history.Pop:
		r.Count = a.Count
	case history.Trim, history.Clear, history.Delete:
		r.Count, r.Removed = a.Count, a.Removed
	}
	return r
}

// send makes the request about a session and returns the body of a good answer.
func (d *httpAPI) send(ctx context.Context, key turn.Key, r *request) (io.ReadCloser, error) {
	return d.sendTo(ctx, key.Namespace, "/sessions/"+url.PathEscape(key.Name)+r.path, r)
}

// sendTo makes the request to a path below the namespace.
func (d *httpAPI) sendTo(ctx context.Context, namespace, path string, r *request) (io.ReadCloser, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	target := fmt.Sprintf("%s/v1/ns/%s%s", d.base, url.PathEscape(namespace), path)
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.entry.User != "" {
		req.SetBasicAuth(d.entry.User, d.entry.Password)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return nil, turn.Errorf(turn.Unavailable, "%v", err)
		}
		return nil, turn.Errorf(outcomeOf(r), "%v", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	return nil, httpError(r, resp)
}

// outcomeOf is the kind of an error after which it is unknown what happened.
func outcomeOf(r *request) turn.Kind {
	if r.method == http.MethodGet {
		return turn.Unavailable
	}
	return turn.Unknown
}

// httpError reads an error answer. It takes the answer at its word: "not
// applied" is held against the history.
func httpError(r *request, resp *http.Response) error {
	var body struct {
		Error struct {
			Code, Message, Outcome string
			Revision               uint64
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&body); err != nil || body.Error.Code == "" {
		return turn.Errorf(outcomeOf(r), "%s without an error that can be read: %v", resp.Status, err)
	}
	kind, ok := turn.ParseKind(body.Error.Code)
	if !ok || body.Error.Outcome != "not_applied" {
		kind = outcomeOf(r)
	}
	return &answered{&turn.Error{Kind: kind, Message: body.Error.Message, Revision: body.Error.Revision}}
}

// tail follows a session by server-sent events.
func (d *httpAPI) tail(ctx context.Context, key turn.Key, after uint64) iter.Seq2[history.Message, error] {
	return func(yield func(history.Message, error) bool) {
		r := &request{method: http.MethodGet, path: "/messages/stream",
			query: url.Values{"after": {strconv.FormatUint(after, 10)}}}
		body, err := d.send(ctx, key, r)
		if err != nil {
			yield(history.Message{}, err)
			return
		}
		defer body.Close()
		if err := readEvents(body, yield); err != nil {
			yield(history.Message{}, err)
		}
	}
}

// readEvents yields the messages of an event stream until it ends, which is an
// error, or yield wants no more.
func readEvents(body io.Reader, yield func(history.Message, error) bool) error {
	in := bufio.NewReader(body)
	var event, data string
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			event = value
		case "data":
			data += value
		case "":
			switch {
			case event == "" && data != "":
				var m httpMessage
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					return fmt.Errorf("event %.100q: %w", data, err)
				}
				if !yield(m.message(), nil) {
					return nil
				}
			case event == "reset": // the messages of the next session of the key follow
			case event != "": // "failure" tells why the stream ends
				return fmt.Errorf("event %s: %s", event, data)
			}
			event, data = "", ""
		}
	}
}
