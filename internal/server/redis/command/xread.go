package command

import (
	"context"
	"math"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// maxBlockedStreams bounds what one XREAD BLOCK watches.
const maxBlockedStreams = 1000

// streamReader is XREAD [COUNT n] [BLOCK ms] STREAMS key … id ….
type streamReader struct {
	req   *Request
	keys  []turn.Key
	after []turn.EntryID
	// fromEnd: the id is $, what comes from now on.
	fromEnd []bool
	count   int
	block   time.Duration // negative: do not wait
	fail    Error         // of the last key, whose id is bad: only the types of keys matter then
}

func xread(req *Request, args [][]byte) Action {
	x := streamReader{req: req, block: -1}
	if err := x.parse(args[1:]); err != "" {
		return err
	}
	if x.block >= 0 && len(x.keys) > maxBlockedStreams {
		return Error(ErrorText(turn.Errorf(turn.TooLarge, "at most %d streams can be waited for",
			maxBlockedStreams), false))
	}
	if x.block >= 0 && x.fail == "" && !req.Queued { // in a transaction it does not wait
		return &Wait{Run: x.run, Linearizable: true}
	}
	return &Read{Keys: x.keys, Queries: x.queries(), Answer: x.answer, Bulky: true}
}

// streamKeys finds the keys of an XREAD: the first half of what follows STREAMS.
func streamKeys(args [][]byte) [][]byte {
	for args = args[1:]; len(args) > 1; args = args[2:] {
		if Is(args[0], "STREAMS") {
			return args[1 : 1+len(args[1:])/2]
		}
	}
	return nil
}

func (x *streamReader) parse(args [][]byte) Error {
	for ; len(args) > 1; args = args[2:] {
		switch {
		case Is(args[0], "COUNT"):
			n, ok := ParseInt(args[1])
			if !ok {
				return ErrNotInteger
			}
			x.count = int(min(max(n, 0), math.MaxInt32))
		case Is(args[0], "BLOCK"):
			n, ok := ParseInt(args[1])
			switch {
			case !ok:
				return "ERR timeout is not an integer or out of range"
			case n < 0:
				return "ERR timeout is negative"
			case n == 0 || n > maxBlock.Milliseconds():
				n = maxBlock.Milliseconds()
			}
			x.block = time.Duration(n) * time.Millisecond
		case Is(args[0], "STREAMS"):
			return x.streams(args[1:])
		default:
			return ErrSyntax
		}
	}
	return ErrSyntax
}

func (x *streamReader) streams(args [][]byte) Error {
	if len(args)%2 != 0 {
		return "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
	}
	n := len(args) / 2
	for i := range n {
		arg, id := args[n+i], turn.EntryID{}
		fromEnd := string(arg) == "$"
		switch {
		case string(arg) == ">":
			x.fail = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> " +
				"option."
		case !fromEnd:
			var ok bool
			if id, ok = parseID(arg, 0); !ok {
				x.fail = errStreamID
			}
		}
		x.keys = append(x.keys, x.req.key(args[i]))
		x.after, x.fromEnd = append(x.after, id), append(x.fromEnd, fromEnd)
		if x.fail != "" {
			break // Redis looks at keys and ids in this order
		}
	}
	return ""
}

// queries asks for the entries after the ids; where that is the end, for where it is.
func (x *streamReader) queries() []turn.Query {
	qs := make([]turn.Query, len(x.keys))
	for i, k := range x.keys {
		next, ok := x.after[i].Next()
		if x.fromEnd[i] || !ok || x.fail != "" {
			qs[i] = InfoOf(k)
			continue
		}
		qs[i] = &turn.Entries{Key: k, Min: next, Max: turn.MaxEntryID(), Limit: x.count}
	}
	return qs
}

// answer says which streams have entries, null if none has.
func (x *streamReader) answer(os []Outcome) (Reply, error) {
	n := 0
	for i := range os {
		switch {
		case os[i].Err != nil:
			return nil, os[i].Err
		case exists(os[i].Result) && os[i].Session.Type != turn.TypeStream:
			return nil, ErrWrongType
		case len(os[i].Entries) > 0:
			n++
		}
	}
	if x.fail != "" {
		return nil, x.fail
	}
	if n == 0 {
		return (*resp.Writer).NullArray, nil
	}
	return func(w *resp.Writer) {
		if w.Protocol() >= 3 {
			w.Map(n)
		} else {
			w.Array(n)
		}
		for i := range os {
			if len(os[i].Entries) == 0 {
				continue
			}
			if w.Protocol() < 3 {
				w.Array(2)
			}
			w.BulkString(x.keys[i].Name)
			writeEntries(w, os[i].Entries)
		}
	}, nil
}

// run waits for entries. It ends early when the client has gone.
func (x *streamReader) run(ctx context.Context) (Reply, error) {
	changed, stop := x.req.Backend.watchAll(x.keys)
	defer stop()
	until := x.req.Backend.now().Add(x.block)
	index := uint64(0)
	for waited := false; ; waited = true {
		if until.IsZero() { // ended by CLIENT UNBLOCK
			return (*resp.Writer).NullArray, nil
		}
		if !x.req.Backend.now().Before(until) {
			index = 0 // the last look: linearizable, since this node can be behind the others
		}
		found, left := false, x.req.Backend.engine.Limits().ReadBytes
		os := make([]Outcome, 0, len(x.keys))
		for i, q := range x.queries() {
			r, err := x.req.Backend.Since(ctx, index, q)
			if turn.Is(err, turn.WrongType) && waited {
				r, err = turn.Result{Index: r.Index}, nil // what else the key holds meanwhile does not matter
			}
			if err != nil {
				return nil, err
			}
			if x.fromEnd[i] && r.Session != nil {
				x.after[i] = r.Session.LastEntry
			}
			x.fromEnd[i] = false
			if left -= size(&r); left < 0 && found {
				return nil, x.req.Backend.tooLong()
			}
			found = found || len(r.Entries) > 0
			os = append(os, Outcome{Result: r})
			index = max(index, r.Index)
		}
		if x.req.Client.HasLeft() {
			return nil, ErrLeft
		}
		if r, err := x.answer(os); err != nil || found || !x.req.Backend.now().Before(until) ||
			x.req.Client.Gone().Err() != nil {
			return r, err
		}
		if err := x.req.Client.WaitFor(changed, &until); err != nil {
			return nil, err
		}
	}
}
