package command

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// messageRef reads "SEQ n" or "ID id".
func (o *options) messageRef() (m turn.MessageRef) {
	switch word := o.word(); word {
	case "SEQ":
		if m.Seq = o.uint("the seq after SEQ"); m.Seq == 0 && o.err == "" {
			o.err = Invalid("the seq after SEQ must be a number from 1 on")
		}
	case "ID":
		if m.ID = string(o.take("the id after ID")); m.ID == "" && o.err == "" {
			o.err = Invalid("the id after ID is empty")
		}
	default:
		o.err = Invalid("SEQ n or ID id is missing")
	}
	return m
}

// turnEdit is TURN.EDIT key SEQ n|ID id payload [EXPECT rev].
func turnEdit(req *Request, args [][]byte) Action {
	op := &turn.EditMessage{Key: req.key(args[1])}
	o := options{args: args[2:]}
	op.Message = o.messageRef()
	payload := o.take("the payload")
	if o.err != "" {
		return o.err
	}
	var bad Error
	if op.Expect, bad = onlyExpect(o.args); bad != "" {
		return bad
	}
	op.Data = req.payload(payload)
	return write(op.Key, op, func(w *resp.Writer, r turn.Result) {
		fields(w, "seq", r.First, "count", r.Count, "revision", r.Revision)
	})
}

// turnRemove is TURN.REMOVE key SEQ n|ID id [EXPECT rev].
func turnRemove(req *Request, args [][]byte) Action {
	op := &turn.RemoveMessage{Key: req.key(args[1])}
	o := options{args: args[2:]}
	op.Message = o.messageRef()
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
