package command

import (
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// txRequest is a TURN.TX request, before its keys and steps are looked at.
type txRequest struct {
	id         string
	conditions []txCondition
	steps      [][][]byte // the words of each, the command's name first
	err        Error
}

type txCondition struct {
	key []byte
	is  turn.ConditionIs
	n   uint64
}

// parseTx reads TURN.TX [ID id] [IF key REVISION n|SEQ n|EXISTS|ABSENT …] STEP words command [arg …] […].
func parseTx(args [][]byte) (t txRequest) {
	o := options{args: args[1:]}
	for o.more() {
		switch word := o.word(); word {
		case "ID":
			t.id = string(o.take("the id after ID"))
		case "IF":
			t.conditions = append(t.conditions, o.txCondition())
		case "STEP":
			n := o.count("the number of words after STEP", 1)
			if o.err == "" && n > len(o.args) {
				o.err = Invalid("STEP %d is followed by %d words only", n, len(o.args))
			}
			if o.err == "" {
				t.steps = append(t.steps, o.args[:n])
				o.args = o.args[n:]
			}
		default:
			o.unknown(word)
		}
	}
	t.err = o.err
	return t
}

func (o *options) txCondition() (c txCondition) {
	c.key = o.take("the key after IF")
	switch word := o.word(); word {
	case "REVISION":
		c.is, c.n = turn.AtRevision, o.uint("the revision after REVISION")
	case "SEQ":
		c.is, c.n = turn.AtSeq, o.uint("the seq after SEQ")
	case "EXISTS":
		c.is = turn.Present
	case "ABSENT":
		c.is = turn.Absent
	default:
		o.unknown(word)
	}
	return c
}

// txKeys finds the keys of a TURN.TX request: of its conditions, and of its steps, of each of
// which the second word is the key. A step that renames it has the other key after it.
func txKeys(args [][]byte) (keys [][]byte) {
	t := parseTx(args)
	if t.err != "" {
		return nil // it is refused
	}
	for _, c := range t.conditions {
		keys = append(keys, c.key)
	}
	for _, words := range t.steps {
		if len(words) > 1 {
			keys = append(keys, words[1])
		}
		if len(words) > 2 && Is(words[0], "TURN.RENAME") {
			keys = append(keys, words[2])
		}
	}
	return keys
}

// stepOfTx reports whether a command can be a step of TURN.TX: all of these have one key, which
// is their first argument, or two.
func stepOfTx(cmd *Command) bool {
	switch cmd.Name {
	case "turn.append", "turn.meta", "turn.trim", "turn.clear", "turn.delete", "turn.expire",
		"turn.pop", "turn.edit", "turn.remove", "turn.replace", "turn.retain", "turn.rename",
		"hset", "hdel", "sadd", "srem":
		return true
	}
	return false
}

func turnTx(req *Request, args [][]byte) Action {
	t := parseTx(args)
	if t.err != "" {
		return t.err
	}
	tx := &turn.Tx{All: true, ID: t.id}
	for _, c := range t.conditions {
		tx.Conditions = append(tx.Conditions, turn.Condition{Key: req.key(c.key), Is: c.is, N: c.n})
	}
	answers := make([]func(*resp.Writer, turn.Result), 0, len(t.steps))
	for i, words := range t.steps {
		step, err := req.txStep(words)
		if err != "" {
			return Invalid("step %d: %s", i+1, strings.TrimPrefix(string(err), "INVALID "))
		}
		tx.Steps = append(tx.Steps, turn.Step{Op: step.Op})
		answers = append(answers, step.Done)
	}
	return &Write{Op: tx, Keys: tx.Keys(), Done: func(w *resp.Writer, r turn.Result) {
		w.Map(3)
		writePairs(w, "revision", r.Revision, "duplicate", r.Duplicate)
		w.BulkString("steps")
		w.Array(len(answers))
		for i := range answers {
			answers[i](w, r.Steps[i].Result)
		}
	}}
}

// txStep makes of the words of a step what its command would do.
func (req *Request) txStep(words [][]byte) (*Write, Error) {
	cmd, err := req.Backend.table.Find(words)
	if err != "" {
		return nil, err
	}
	if !stepOfTx(cmd) {
		return nil, Invalid("%s cannot be a step of TURN.TX", strings.ToUpper(cmd.Name))
	}
	step := *req
	step.Command = cmd
	switch a := cmd.Handle(&step, words).(type) {
	case *Write:
		return a, ""
	case Error:
		return nil, a
	}
	return nil, Invalid("%s must change something as a step of TURN.TX", strings.ToUpper(cmd.Name))
}
