package command

import (
	"context"
	"encoding/json"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// maxBlock is how long a request may block. A client that wants to wait longer
// asks again.
const maxBlock = 5 * time.Minute

// turnRead is TURN.READ key [LAST n | AFTER seq | BEFORE seq] [LIMIT n]
// [MAXBYTES n] [MAXTOKENS n] [WHOLE] [SINCE ms] [UNTIL ms] [METADATA] [CONSISTENCY LINEARIZABLE|BOUNDED ms|STALE].
func turnRead(req *Request, args [][]byte) Action {
	q, how, meta, err := parseRead(req.key(args[1]), args[2:])
	if err != "" {
		return err
	}
	answer := func(r turn.Result) (Reply, error) {
		return func(w *resp.Writer) { writeHistory(w, r, how, meta) }, nil
	}
	if how == Linearizable || req.Queued { // a transaction is linearizable as a whole
		a := req.read(q.Key, q, answer)
		a.Bulky = true
		return a
	}
	return &Work{Keys: []turn.Key{q.Key}, Bulky: true, Run: func(ctx context.Context) (Reply, error) {
		r, err := req.Backend.engine.Query(ctx, q, how)
		if err != nil {
			return nil, err
		}
		return answer(r)
	}}
}

func parseRead(k turn.Key, args [][]byte) (q *turn.Read, how turn.Consistency, meta bool, fail Error) {
	q = &turn.Read{Key: k}
	o := options{args: args}
	last, places := 0, 0
	for o.more() {
		switch word := o.word(); word {
		case "LAST":
			places++
			last = o.count("the number after LAST", 1)
		case "AFTER":
			places++
			q.From, q.Seq = turn.FromAfter, o.uint("the seq after AFTER")
		case "BEFORE":
			places++
			q.From, q.Seq = turn.FromBefore, o.uint("the seq after BEFORE")
		case "LIMIT":
			q.Limit = o.count("the number after LIMIT", 1)
		case "MAXBYTES":
			q.MaxBytes = o.int("the number after MAXBYTES", 1)
		case "MAXTOKENS":
			q.MaxTokens = o.int("the number after MAXTOKENS", 1)
		case "WHOLE":
			q.Whole = true
		case "SINCE":
			q.Since = o.int("the time after SINCE, in Unix milliseconds,", 1)
		case "UNTIL":
			q.Until = o.int("the time after UNTIL, in Unix milliseconds,", 1)
		case "METADATA":
			meta = true
		case "CONSISTENCY":
			how = o.consistency()
		default:
			o.unknown(word)
		}
	}
	if o.err == "" && places > 1 {
		o.err = Invalid("LAST, AFTER and BEFORE exclude each other")
	}
	if last > 0 && (q.Limit == 0 || last < q.Limit) {
		q.Limit = last
	}
	return q, how, meta, o.err
}

func (o *options) consistency() turn.Consistency {
	switch word := o.word(); word {
	case "LINEARIZABLE":
		return Linearizable
	case "STALE":
		return turn.Consistency{Level: turn.Stale}
	case "BOUNDED":
		ms := o.count("the time after BOUNDED, in milliseconds,", 0)
		return turn.Consistency{Level: turn.Bounded, MaxAge: time.Duration(ms) * time.Millisecond}
	default:
		o.unknown(word)
		return turn.Consistency{}
	}
}

func levelName(l turn.Level) string {
	switch l {
	case turn.Bounded:
		return "bounded"
	case turn.Stale:
		return "stale"
	}
	return "linearizable"
}

// writeHistory writes an answer to TURN.READ, with the session's metadata if that is asked for.
func writeHistory(w *resp.Writer, r turn.Result, how turn.Consistency, meta bool) {
	var s turn.Session
	if r.Session != nil {
		s = *r.Session
	}
	w.Map(8 + map[bool]int{true: 1}[meta])
	writePairs(w, "first_seq", s.First, "last_seq", s.Last, "count", s.Count, "revision", s.Revision,
		"incarnation", s.Incarnation, "more", r.More, "consistency", levelName(how.Level))
	if meta {
		w.BulkString("metadata")
		writeMeta(w, s.Metadata)
	}
	w.BulkString("messages")
	WriteMessages(w, r.Messages)
}

// turnTail is TURN.TAIL key [AFTER seq] [COUNT n] [BLOCK ms | PUSH [INCARNATION i]].
func turnTail(req *Request, args [][]byte) Action {
	t := tail{req: req, q: turn.Read{Key: req.key(args[1]), From: turn.FromAfter, Limit: 1000}}
	push, incarnation := false, uint64(0)
	o := options{args: args[2:]}
	for o.more() {
		switch word := o.word(); word {
		case "AFTER":
			t.q.Seq = o.uint("the seq after AFTER")
		case "COUNT":
			t.q.Limit = o.count("the number after COUNT", 1)
		case "BLOCK":
			t.block = time.Duration(o.count("the time after BLOCK, in milliseconds,", 0)) * time.Millisecond
			if t.block == 0 || t.block > maxBlock {
				t.block = maxBlock
			}
		case "PUSH":
			push = true
		case "INCARNATION":
			incarnation = o.uint("the number after INCARNATION")
		default:
			o.unknown(word)
		}
	}
	if o.err == "" && push && t.block > 0 {
		o.err = Invalid("BLOCK and PUSH exclude each other")
	}
	switch {
	case o.err != "":
		return o.err
	case push:
		t.q.MaxBytes = tailFrame
		if err := t.q.Validate(req.Backend.engine.Limits()); err != nil {
			return Error(ErrorText(err, true))
		}
		return &Follow{Read: t.q, Incarnation: incarnation, Refused: req.Client.Permission(req.Command, args)}
	}
	return &Wait{Run: t.run}
}

// tailFrame is how many bytes of messages one push has at most, unless a single message has
// more.
const tailFrame = 256 << 10

// tail waits for messages.
type tail struct {
	req   *Request
	q     turn.Read
	block time.Duration
}

// run returns the first messages after q.Seq, waiting for them up to block. If
// the session is deleted and created again in between, or has plainly been since the
// client's last request, these are the first ones of the new session.
func (t *tail) run(ctx context.Context) (Reply, error) {
	engine, gone := t.req.Backend.engine, t.req.Client.Gone()
	changed, stop := engine.Watch(t.q.Key)
	defer stop()
	until := t.req.Backend.now().Add(t.block)
	var index, incarnation uint64
	for {
		if !until.IsZero() && !t.req.Backend.now().Before(until) {
			index = 0 // the last look: linearizable, since this node can be behind the others
		}
		r, err := t.req.Backend.Since(ctx, index, &t.q)
		if err != nil {
			return nil, err
		}
		index = r.Index
		if s := r.Session; s != nil {
			recreated := incarnation != 0 && s.Incarnation != incarnation
			incarnation = s.Incarnation
			if t.q.Seq > 0 && (recreated || s.Last < t.q.Seq) {
				t.q.Seq = 0
				continue
			}
		}
		if t.req.Client.HasLeft() {
			return nil, ErrLeft
		}
		if len(r.Messages) > 0 || !t.req.Backend.now().Before(until) || gone.Err() != nil {
			return func(w *resp.Writer) { WriteMessages(w, r.Messages) }, nil
		}
		if err := t.req.Client.WaitFor(changed, &until); err != nil {
			return nil, err
		}
	}
}

// turnInfo is TURN.INFO key.
func turnInfo(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return req.readSession(k, func(s *turn.Session) Reply {
		if s == nil {
			return (*resp.Writer).Null
		}
		return func(w *resp.Writer) { writeSession(w, s) }
	})
}

// readSession asks for the session of a key, nil if there is none. Another type
// of value is an error.
func (req *Request) readSession(k turn.Key, answer func(*turn.Session) Reply) Action {
	return req.read(k, InfoOf(k), func(r turn.Result) (Reply, error) {
		if s := r.Session; s != nil && s.Type != turn.TypeList {
			return nil, turn.Errorf(turn.WrongType, "the key holds a %s, not a list", s.Type)
		}
		return answer(r.Session), nil
	})
}

func writeSession(w *resp.Writer, s *turn.Session) {
	w.Map(14)
	writePairs(w, "key", s.Key.Name, "incarnation", s.Incarnation, "count", s.Count, "bytes", s.Bytes,
		"first_seq", s.First, "last_seq", s.Last, "revision", s.Revision, "created", s.Created, "updated", s.Updated,
		"expires_at", s.ExpiresAt, "slide_ms", s.Slide, "retain_messages", s.Retention.Messages,
		"retain_turns", s.Retention.Turns)
	w.BulkString("metadata")
	writeMeta(w, s.Metadata)
}

// turnList is TURN.LIST [PREFIX p] [LABEL name value ...] [CURSOR c] [LIMIT n].
func turnList(req *Request, args [][]byte) Action {
	q := turn.Sessions{Namespace: req.Namespace, Limit: 100}
	o := options{args: args[1:]}
	for o.more() {
		switch word := o.word(); word {
		case "PREFIX":
			q.Prefix = string(o.take("the prefix after PREFIX"))
		case "LABEL":
			name := string(o.take("the label after LABEL"))
			q.Labels = append(q.Labels, turn.Label{Name: name, Value: string(o.take("the value after LABEL name"))})
		case "CURSOR":
			q.Cursor = string(o.take("the cursor after CURSOR"))
		case "LIMIT":
			q.Limit = o.count("the number after LIMIT", 1)
		default:
			o.unknown(word)
		}
	}
	if o.err != "" {
		return o.err
	}
	user := req.User
	return AloneLinearizable(func(ctx context.Context) (Reply, error) {
		r, err := user.List(q, func(q turn.Sessions) (turn.Result,
			error) {
			return req.Backend.engine.Query(ctx, &q, Linearizable)
		})
		if err != nil {
			return nil, err
		}
		return func(w *resp.Writer) {
			w.Map(2)
			writePairs(w, "cursor", r.Cursor)
			w.BulkString("sessions")
			w.Array(len(r.Sessions))
			for i := range r.Sessions {
				writeSession(w, &r.Sessions[i])
			}
		}, nil
	})
}

// turnCluster is TURN.CLUSTER: the cluster as JSON text.
func turnCluster(req *Request, _ [][]byte) Action {
	return Alone(func(ctx context.Context) (Reply, error) {
		cl, err := req.Backend.engine.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(cl)
		if err != nil {
			return nil, err
		}
		return func(w *resp.Writer) { w.Bulk(b) }, nil
	})
}
