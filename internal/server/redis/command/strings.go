package command

import (
	"math"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

func get(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	a := req.read(k, &turn.GetString{Key: k}, func(r turn.Result) (Reply, error) {
		return func(w *resp.Writer) { writeString(w, r) }, nil
	})
	a.Bulky = true
	return a
}

// writeString writes the string of a result, null if there is none.
func writeString(w *resp.Writer, r turn.Result) {
	if r.Found {
		w.Bulk(r.Value)
	} else {
		w.Null()
	}
}

func strlen(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return req.read(k, &turn.GetString{Key: k}, func(r turn.Result) (Reply, error) {
		return Count(uint64(len(r.Value))), nil
	})
}

// mget answers with strings. A key of another type is none to it.
func mget(req *Request, args [][]byte) Action {
	a := req.lookUpKeys(args[1:], true, func(els []turn.Element) Reply {
		return func(w *resp.Writer) {
			w.Array(len(els))
			for i := range els {
				oneValue(w, &els[i])
			}
		}
	})
	a.Bulky = true
	return a
}

// set is SET key value [NX|XX] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL].
func set(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.SetString{Key: k}
	var t timeOption
	for i := 3; i < len(args); i++ {
		word := strings.ToUpper(string(args[i]))
		switch {
		case word == "NX" && op.If == turn.SetAlways:
			op.If = turn.SetIfAbsent
		case word == "XX" && op.If != turn.SetIfAbsent:
			op.If = turn.SetIfPresent
		case word == "NX" && op.If == turn.SetIfAbsent:
		case word == "GET":
			op.Get = true
		case word == "KEEPTTL" && t.word == "":
			op.KeepTTL = true
		case !op.KeepTTL && t.read(word, args[i+1:]):
			i++
		default:
			return ErrSyntax
		}
	}
	if err := req.deadlineOf(op, t, "set"); err != "" {
		return err
	}
	op.Value = req.payload(args[2])
	return write(k, op, func(w *resp.Writer, r turn.Result) {
		switch {
		case op.Get:
			writeString(w, r)
		case r.Count == 0:
			w.Null()
		default:
			w.Status("OK")
		}
	})
}

// timeOption is EX, PX, EXAT or PXAT with the time that follows it.
type timeOption struct {
	word string // "": there is none
	time []byte
}

// read takes the option if word is one, and a time follows, and there was no other one.
func (t *timeOption) read(word string, rest [][]byte) bool {
	if word != "EX" && word != "PX" && word != "EXAT" && word != "PXAT" || t.word != "" && t.word != word ||
		len(rest) == 0 {
		return false
	}
	t.word, t.time = word, rest[0]
	return true
}

// deadlineOf gives op the deadline of an option, if there is one.
func (req *Request) deadlineOf(op *turn.SetString, t timeOption, command string) Error {
	if t.word == "" {
		return ""
	}
	unit := int64(1000)
	if t.word[0] == 'P' {
		unit = 1
	}
	return req.deadline(op, t.time, unit, strings.HasSuffix(t.word, "AT"), command)
}

// getEx is GETEX key [EX s|PX ms|EXAT s|PXAT ms|PERSIST]. As in Redis, a time matters only if
// there is a string.
func getEx(req *Request, args [][]byte) Action {
	var t timeOption
	persist := false
	for i := 2; i < len(args); i++ {
		word := strings.ToUpper(string(args[i]))
		switch {
		case word == "PERSIST" && t.word == "":
			persist = true
		case !persist && t.read(word, args[i+1:]):
			i++
		default:
			return ErrSyntax
		}
	}
	if !persist && t.word == "" {
		return get(req, args)
	}
	k := req.key(args[1])
	op := &turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, KeepValue: true}
	if bad := req.deadlineOf(op, t, "getex"); bad != "" {
		return req.read(k, &turn.GetString{Key: k}, func(r turn.Result) (Reply, error) {
			if r.Found {
				return nil, bad
			}
			return (*resp.Writer).Null, nil
		})
	}
	return write(k, op, writeString)
}

// deadline reads the time of a SET, in units of so many milliseconds.
func (req *Request) deadline(op *turn.SetString, arg []byte, unit int64, at bool, command string) Error {
	n, ok := ParseInt(arg)
	if !ok {
		return ErrNotInteger
	}
	highest := int64(math.MaxInt64)
	if !at {
		highest = turn.MaxTTL
	}
	switch {
	case n <= 0 || n > highest/unit:
		return errExpireTime(command)
	case at:
		op.At = n * unit
	default:
		op.TTL = n * unit
	}
	return ""
}

// setFor makes the handler of SETEX and PSETEX.
func setFor(unit int64, command string) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		op := &turn.SetString{Key: k}
		if err := req.deadline(op, args[2], unit, false, command); err != "" {
			return err
		}
		op.Value = req.payload(args[3])
		return write(k, op, func(w *resp.Writer, _ turn.Result) { w.Status("OK") })
	}
}

func setNew(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.SetString{Key: k, Value: req.payload(args[2]), If: turn.SetIfAbsent}
	return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Count) })
}

func getSet(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return write(k, &turn.SetString{Key: k, Value: req.payload(args[2]), Get: true}, writeString)
}

// getDel sets a deadline that has passed, which deletes the key.
func getDel(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return write(k, &turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, At: 1}, writeString)
}

// add makes the handler of INCR, DECR, INCRBY and DECRBY.
func add(sign int64) Handler {
	return func(req *Request, args [][]byte) Action {
		n := int64(1)
		if len(args) > 2 {
			var ok bool
			if n, ok = ParseInt(args[2]); !ok {
				return ErrNotInteger
			}
		}
		if sign < 0 && n == math.MinInt64 {
			return Error("ERR decrement would overflow")
		}
		k := req.key(args[1])
		return write(k, &turn.AddInt{Key: k, Delta: sign * n}, sayNumber)
	}
}

// mset is one operation, of several steps.
func mset(req *Request, args [][]byte) Action {
	if len(args)%2 == 0 {
		return ErrArity("mset")
	}
	tx := new(turn.Tx)
	a := &Write{Op: tx, Done: sayOK}
	for i := 1; i < len(args); i += 2 {
		k := req.key(args[i])
		a.Keys = append(a.Keys, k)
		tx.Steps = append(tx.Steps, turn.Step{Op: &turn.SetString{Key: k, Value: req.payload(args[i+1])}})
	}
	return a
}

func msetnx(req *Request, args [][]byte) Action {
	if len(args)%2 == 0 {
		return ErrArity("msetnx")
	}
	op := new(turn.SetNew)
	for i := 1; i < len(args); i += 2 {
		op.Keys = append(op.Keys, req.key(args[i]))
		op.Values = append(op.Values, req.payload(args[i+1]))
	}
	return &Write{Op: op, Keys: op.Keys, Done: func(w *resp.Writer, r turn.Result) {
		if r.Count > 0 {
			w.Int(1)
			return
		}
		w.Int(0)
	}}
}
