package workload

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// movesAPI commits transactions over three sessions, through the Go client or over HTTP, and reads the three together.
type movesAPI struct {
	reads  respAPI
	native *nativeAPI
	http   *httpAPI // in its place
}

func (d *movesAPI) Close() {
	d.reads.Close()
	if d.http != nil {
		d.http.Close()
		return
	}
	d.native.Close()
}

func (d *movesAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	switch {
	case len(c.Command) > 0 && c.Command[0] == value.Snapshot:
		return d.reads.snapshot(ctx, key)
	case len(c.Command) == 0 || c.Command[0] != value.Tx:
		return history.Result{}, unsupported(MOVES, c)
	}
	t := value.ParseTransaction(value.Words(c.Command, key.Name))
	if d.http != nil {
		return d.http.commit(ctx, key.Namespace, &t)
	}
	return d.native.commit(ctx, key.Namespace, &t)
}

// snapshot reads the three sessions in one transaction.
func (d *respAPI) snapshot(ctx context.Context, key turn.Key) (r history.Result, err error) {
	var reads [][]string
	for _, k := range value.MovedKeys {
		reads = append(reads, value.Words([]string{"TURN.READ", k}, key.Name))
	}
	v, err := d.exec(ctx, key.Namespace, false, reads)
	if err != nil {
		return r, err
	}
	if len(v.Elems) != len(reads) {
		return r, turn.Errorf(turn.Internal, "EXEC has %d answers", len(v.Elems))
	}
	for i := range v.Elems {
		if err := replyError(v.Elems[i]); err != nil {
			return r, err
		}
		r.Places = append(r.Places, placeOf(&v.Elems[i]))
	}
	return r, nil
}

// placeOf reads the answer of TURN.READ.
func placeOf(v *resp.Value) (p history.Place) {
	field := func(name string) uint64 {
		f, _ := v.Field(name)
		n, _ := f.Int64()
		return uint64(n)
	}
	p.Revision, p.Last = field("revision"), field("last_seq")
	ms, _ := v.Field("messages")
	for _, m := range ms.Elems { // seq, time, id, payload
		if len(m.Elems) != 4 {
			m.Elems = make([]resp.Value, 4)
		}
		seq, _ := m.Elems[0].Int64()
		p.Messages = append(p.Messages, history.Message{Seq: uint64(seq), Value: token(m.Elems[3].Str)})
	}
	return p
}

// commit carries out a transaction through the client.
func (d *nativeAPI) commit(ctx context.Context, namespace string, t *value.Transaction) (r history.Result, err error) {
	cl, err := d.client(namespace)
	if err != nil {
		return r, err
	}
	tx := cl.Transaction().ID(t.ID)
	for _, c := range t.Conditions {
		switch c.Is {
		case "REVISION":
			tx.IfRevision(c.Key, c.N)
		case "SEQ":
			tx.IfSeq(c.Key, c.N)
		case "EXISTS":
			tx.IfExists(c.Key)
		case "ABSENT":
			tx.IfAbsent(c.Key)
		}
	}
	for i := range t.Steps {
		nativeStep(tx, &t.Steps[i])
	}
	res, err := tx.Commit(ctx)
	if err != nil {
		return r, err
	}
	steps := make([]history.Result, len(res.Steps))
	for i := range steps {
		x := &res.Steps[i].Result
		steps[i] = history.Result{First: x.First, Last: x.Last, Count: x.Count, Removed: x.Removed,
			Messages: messages(x.Messages)}
	}
	return history.Result{Answer: t.Answered(res.Duplicate, steps), Duplicate: res.Duplicate}, nil
}

func nativeStep(tx *client.Transaction, s *value.Step) {
	var ms []turn.NewMessage
	for _, text := range s.Texts() {
		ms = append(ms, turn.NewMessage{Data: payload(text)})
	}
	switch s.Name {
	case "TURN.APPEND":
		tx.Append(s.Key, ms...)
	case "TURN.POP":
		tx.Pop(s.Key, int(s.Number(0)), map[string]turn.Side{"HEAD": turn.Head, "NEWEST": turn.Newest}[s.Args[1]])
	case "TURN.EDIT":
		tx.Edit(s.Key, turn.MessageRef{Seq: s.Number(0)}, ms[0].Data)
	case "TURN.REMOVE":
		tx.Remove(s.Key, turn.MessageRef{Seq: s.Number(0)})
	case "TURN.REPLACE":
		tx.Replace(s.Key, s.Number(0), ms...)
	case "TURN.RETAIN":
		if n := s.Number(0); n > 0 {
			tx.Retain(s.Key, turn.Retention{Messages: n})
		} else {
			tx.RetainAll(s.Key)
		}
	case "TURN.RENAME":
		tx.Rename(s.Key, s.Args[0], len(s.Args) > 1)
	case "TURN.DELETE":
		tx.Delete(s.Key)
	}
}

// commit carries out a transaction over HTTP.
func (d *httpAPI) commit(ctx context.Context, namespace string, t *value.Transaction) (r history.Result, err error) {
	conditions, steps := []map[string]any{}, []map[string]any{}
	for _, c := range t.Conditions {
		names := map[string]string{"REVISION": "revision", "SEQ": "last_seq"}
		if name := names[c.Is]; name != "" {
			conditions = append(conditions, map[string]any{"key": c.Key, name: c.N})
		} else {
			conditions = append(conditions, map[string]any{"key": c.Key, "exists": c.Is == "EXISTS"})
		}
	}
	for i := range t.Steps {
		name := strings.ToLower(strings.TrimPrefix(t.Steps[i].Name, "TURN."))
		steps = append(steps, map[string]any{name: httpStep(&t.Steps[i])})
	}
	body, err := d.sendTo(ctx, namespace, "/transactions", &request{method: http.MethodPost,
		body: map[string]any{"id": t.ID, "conditions": conditions, "steps": steps}})
	if err != nil {
		return r, err
	}
	defer body.Close()
	var a struct {
		Duplicate bool
		Steps     []httpAnswer
	}
	if err := json.NewDecoder(body).Decode(&a); err != nil || len(a.Steps) != len(t.Steps) {
		return r, turn.Errorf(turn.Unknown, "answer of %d steps cannot be read: %v", len(a.Steps), err)
	}
	results := make([]history.Result, len(steps))
	for i := range results {
		x := &a.Steps[i]
		results[i] = history.Result{First: x.FirstSeq, Last: x.LastSeq, Count: x.Count, Removed: x.Removed}
		for j := range x.Messages {
			results[i].Messages = append(results[i].Messages, x.Messages[j].message())
		}
	}
	return history.Result{Answer: t.Answered(a.Duplicate, results), Duplicate: a.Duplicate}, nil
}

func httpStep(s *value.Step) map[string]any {
	ms := []map[string]any{}
	for _, text := range s.Texts() {
		ms = append(ms, map[string]any{"data": json.RawMessage(payload(text))})
	}
	body := map[string]any{"key": s.Key}
	switch s.Name {
	case "TURN.APPEND":
		body["messages"] = ms
	case "TURN.POP":
		body["count"], body["from"] = s.Number(0), strings.ToLower(s.Args[1])
	case "TURN.EDIT":
		body["seq"], body["data"] = s.Number(0), ms[0]["data"]
	case "TURN.REMOVE":
		body["seq"] = s.Number(0)
	case "TURN.REPLACE":
		body["from"], body["messages"] = s.Number(0), ms
	case "TURN.RETAIN":
		if body["messages"] = s.Number(0); body["messages"] == uint64(0) {
			delete(body, "messages")
			body["all"] = true
		}
	case "TURN.RENAME":
		body["to"], body["replace"] = s.Args[0], len(s.Args) > 1
	}
	return body
}
