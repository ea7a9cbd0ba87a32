package command

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// turnAppend is TURN.APPEND key [EXPECT rev] [EXISTING] [PX ms] [SET k v …] [UNSET k …] MSG id payload […].
func turnAppend(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.Append{Key: k}
	o := options{args: args[2:]}
	var ids []string
	var payloads [][]byte
	for o.more() {
		switch word := o.word(); word {
		case "EXPECT":
			op.Expect = o.expect()
		case "PX":
			op.TTL = o.int("the time after PX, in milliseconds,", 1)
		case "EXISTING":
			op.MustExist = true
		case "SET":
			o.setMeta(op)
		case "UNSET":
			op.Unset = append(op.Unset, string(o.take("the metadata key after UNSET")))
		case "MSG":
			o.message(&ids, &payloads)
		default:
			o.unknown(word)
		}
	}
	if o.err != "" {
		return o.err
	}
	op.Messages = req.messages(ids, payloads)
	return write(k, op, func(w *resp.Writer, r turn.Result) {
		fields(w, "first_seq", r.First, "last_seq", r.Last, "revision", r.Revision, "duplicate", r.Duplicate,
			"count", r.Count)
	})
}

// setMeta reads "k v" after SET.
func (o *options) setMeta(op *turn.Append) {
	k := string(o.take("the metadata key after SET"))
	if op.Set == nil {
		op.Set = make(map[string]string)
	}
	op.Set[k] = string(o.take("the value after SET key"))
}

// turnReplace is TURN.REPLACE key FROM seq [EXPECT rev] [MSG id payload …].
func turnReplace(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.Replace{Key: k}
	o := options{args: args[2:]}
	var ids []string
	var payloads [][]byte
	for o.more() {
		switch word := o.word(); word {
		case "FROM":
			op.From = o.uint("the seq after FROM")
		case "EXPECT":
			op.Expect = o.expect()
		case "MSG":
			o.message(&ids, &payloads)
		default:
			o.unknown(word)
		}
	}
	if o.err != "" {
		return o.err
	}
	op.Messages = req.messages(ids, payloads)
	return write(k, op, func(w *resp.Writer, r turn.Result) {
		fields(w, "first_seq", r.First, "last_seq", r.Last, "revision", r.Revision, "duplicate", r.Duplicate,
			"count", r.Count, "removed", r.Removed)
	})
}

// turnPop is TURN.POP key [COUNT n] [EXPECT rev] [FROM NEWEST|HEAD|TAIL].
func turnPop(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.Pop{Key: k, From: turn.Newest, Count: 1}
	o := options{args: args[2:]}
	for o.more() {
		switch word := o.word(); word {
		case "COUNT":
			op.Count = uint64(o.int("the number after COUNT", 1))
		case "EXPECT":
			op.Expect = o.expect()
		case "FROM":
			switch side := o.word(); side {
			case "NEWEST":
				op.From = turn.Newest
			case "HEAD":
				op.From = turn.Head
			case "TAIL":
				op.From = turn.Tail
			default:
				o.unknown(side)
			}
		default:
			o.unknown(word)
		}
	}
	if o.err != "" {
		return o.err
	}
	return write(k, op, func(w *resp.Writer, r turn.Result) {
		w.Map(3)
		writePairs(w, "count", r.Count, "revision", r.Revision)
		w.BulkString("messages")
		WriteMessages(w, r.Messages)
	})
}

// turnTrim is TURN.TRIM key KEEP n|BEFORE seq [EXPECT rev].
func turnTrim(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.Trim{Key: k}
	o := options{args: args[2:]}
	how := ""
	for o.more() {
		word := o.word()
		switch word {
		case "KEEP":
			op.By, op.N = turn.KeepLast, o.uint("the number after KEEP")
		case "BEFORE":
			op.By, op.N = turn.BeforeSeq, o.uint("the seq after BEFORE")
		case "EXPECT":
			op.Expect = o.expect()
			continue
		default:
			o.unknown(word)
		}
		if how != "" && o.err == "" {
			o.err = Invalid("%s and %s exclude each other", how, word)
		}
		how = word
	}
	if o.err == "" && how == "" {
		o.err = Invalid("KEEP n or BEFORE seq is missing")
	}
	if o.err != "" {
		return o.err
	}
	return write(k, op, func(w *resp.Writer, r turn.Result) {
		fields(w, "removed", r.Removed, "count", r.Count, "revision", r.Revision)
	})
}

// onlyExpect reads [EXPECT rev] at the end of a request.
func onlyExpect(args [][]byte) (*uint64, Error) {
	var expect *uint64
	o := options{args: args}
	for o.more() {
		switch word := o.word(); word {
		case "EXPECT":
			expect = o.expect()
		default:
			o.unknown(word)
		}
	}
	return expect, o.err
}

// turnClear is TURN.CLEAR key [EXPECT rev].
func turnClear(req *Request, args [][]byte) Action {
	expect, err := onlyExpect(args[2:])
	if err != "" {
		return err
	}
	k := req.key(args[1])
	return write(k, &turn.Clear{Key: k, Expect: expect}, removal)
}

// turnDelete is TURN.DELETE key [EXPECT rev].
func turnDelete(req *Request, args [][]byte) Action {
	expect, err := onlyExpect(args[2:])
	if err != "" {
		return err
	}
	k := req.key(args[1])
	return write(k, &turn.Delete{Keys: []turn.Key{k}, Expect: expect}, removal)
}

// turnFork is TURN.FORK key to [AT seq] [EXPECT rev].
func turnFork(req *Request, args [][]byte) Action {
	op := &turn.Fork{Key: req.key(args[1]), To: req.key(args[2])}
	o := options{args: args[3:]}
	for o.more() {
		switch word := o.word(); word {
		case "AT":
			op.At = o.uint("the seq after AT")
		case "EXPECT":
			op.Expect = o.expect()
		default:
			o.unknown(word)
		}
	}
	if o.err != "" {
		return o.err
	}
	return &Write{Op: op, Keys: []turn.Key{op.Key, op.To}, Done: func(w *resp.Writer, r turn.Result) {
		fields(w, "first_seq", r.First, "last_seq", r.Last, "count", r.Count, "revision", r.Revision)
	}}
}

// turnRename is TURN.RENAME key to [REPLACE] [EXPECT rev].
func turnRename(req *Request, args [][]byte) Action {
	op := &turn.Rename{Key: req.key(args[1]), To: req.key(args[2])}
	o := options{args: args[3:]}
	for o.more() {
		switch word := o.word(); word {
		case "REPLACE":
			op.Replace = true
		case "EXPECT":
			op.Expect = o.expect()
		default:
			o.unknown(word)
		}
	}
	if o.err != "" {
		return o.err
	}
	return &Write{Op: op, Keys: []turn.Key{op.Key, op.To}, Done: func(w *resp.Writer, r turn.Result) {
		fields(w, "count", r.Count, "revision", r.Revision)
	}}
}

// turnExpire is TURN.EXPIRE key PX ms [SLIDE] | PXAT ms | NEVER, and [EXPECT rev].
func turnExpire(req *Request, args [][]byte) Action {
	op := &turn.Expire{Key: req.key(args[1])}
	o := options{args: args[2:]}
	hows := 0
	for o.more() {
		switch word := o.word(); word {
		case "PX":
			hows++
			op.HasTTL, op.TTL = true, o.int("the time after PX, in milliseconds,", 1)
		case "PXAT":
			hows++
			op.HasAt, op.At = true, o.int("the time after PXAT, in Unix milliseconds,", 0)
		case "NEVER":
			hows++
		case "SLIDE":
			op.Slide = true
		case "EXPECT":
			op.Expect = o.expect()
		default:
			o.unknown(word)
		}
	}
	if o.err == "" && hows != 1 {
		o.err = Invalid("give one of PX ms, PXAT ms and NEVER")
	}
	if o.err != "" {
		return o.err
	}
	return write(op.Key, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) })
}

// turnRetain is TURN.RETAIN key MESSAGES n|TURNS n|ALL [EXPECT rev].
func turnRetain(req *Request, args [][]byte) Action {
	op := &turn.Retain{Key: req.key(args[1])}
	o := options{args: args[2:]}
	switch word := o.word(); word {
	case "MESSAGES":
		op.Keep.Messages = uint64(o.int("the number after MESSAGES", 1))
	case "TURNS":
		op.Keep.Turns = uint64(o.int("the number after TURNS", 1))
	case "ALL":
		op.All = true
	default:
		o.err = Invalid("MESSAGES n, TURNS n or ALL is missing")
	}
	if o.err != "" {
		return o.err
	}
	var bad Error
	if op.Expect, bad = onlyExpect(o.args); bad != "" {
		return bad
	}
	return write(op.Key, op, func(w *resp.Writer, r turn.Result) {
		fields(w, "removed", r.Removed, "count", r.Count, "revision", r.Revision)
	})
}

// turnErase is TURN.ERASE PREFIX p [ALL].
func turnErase(req *Request, args [][]byte) Action {
	if !Is(args[1], "PREFIX") {
		return Invalid("PREFIX p is missing")
	}
	all := len(args) == 4 && Is(args[3], "ALL")
	switch {
	case len(args) > 3 && !all:
		return Invalid("PREFIX p can be followed by ALL only")
	case len(args[2]) == 0 && !all:
		return Invalid("an empty prefix deletes every session of the namespace: add ALL to do it; nothing was deleted")
	}
	namespace, prefix := req.Namespace, string(args[2])
	return Alone(func(ctx context.Context) (Reply, error) {
		removed, err := req.erase(ctx, namespace, prefix)
		if err != nil {
			return nil, partly(err, removed)
		}
		return func(w *resp.Writer) { fields(w, "removed", removed) }, nil
	})
}
