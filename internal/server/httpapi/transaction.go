package httpapi

import (
	"errors"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

type transactionReply struct {
	tx       *turn.Tx
	res      *turn.Result
	encoding encoding
}

func (r transactionReply) write(o *output) {
	o.text(`{"revision":`)
	o.number(r.res.Revision)
	o.text(`,"duplicate":`)
	o.text(strconv.FormatBool(r.res.Duplicate))
	o.text(`,"steps":[`)
	for i := range r.res.Steps {
		if i > 0 {
			o.text(`,`)
		}
		op, res := r.tx.Steps[i].Op, &r.res.Steps[i].Result
		if _, pops := op.(*turn.Pop); pops {
			poppedReply{*res, r.encoding}.write(o)
		} else if err := o.value(stepReply(op, res)); err != nil {
			o.fail(err)
			return
		}
	}
	o.text("]}\n")
}

func (s *Server) postTransaction(c *call) (any, error) {
	encoding := c.encoding()
	if c.err != nil {
		return nil, c.err
	}
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	tx, err := decodeTransaction(body, c.namespace, c.limits)
	if err != nil {
		return nil, err
	}
	res, err := c.apply(tx)
	return transactionReply{tx, &res, encoding}, err
}

type fieldsSetReply struct {
	Added    uint64 `json:"added"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

// stepReply is what the endpoint for an operation answers.
func stepReply(op turn.Op, res *turn.Result) any {
	switch op.(type) {
	case *turn.Append:
		return appendReply{res.First, res.Last, res.Revision, res.Duplicate, res.Count}
	case *turn.SetMetadata:
		return revisionReply{res.Revision}
	case *turn.Expire:
		return expireReply{res.Removed > 0}
	case *turn.Delete:
		return deletedReply{res.Removed}
	case *turn.SetFields:
		return fieldsSetReply{uint64(res.Number), res.Count, res.Revision}
	case *turn.EditMessage:
		return editedReply{res.First, res.Count, res.Revision}
	case *turn.Replace:
		return replaceReply{appendReply{res.First, res.Last, res.Revision, res.Duplicate, res.Count}, res.Removed}
	case *turn.Rename:
		return renameReply{res.Count, res.Revision}
	}
	return removedReply{res.Removed, res.Count, res.Revision}
}

func decodeTransaction(body []byte, namespace string, limits turn.Limits) (*turn.Tx, error) {
	tx := &turn.Tx{All: true}
	err := inBody(body).read(readers{
		"id": text(&tx.ID),
		"conditions": func(v value) error {
			return v.array(func(i int, v value) error {
				if i == turn.MaxAllSteps {
					return turn.Errorf(turn.TooLarge, "conditions: more than %d", turn.MaxAllSteps)
				}
				c, err := condition(v)
				c.Key.Namespace = namespace
				tx.Conditions = append(tx.Conditions, c)
				return err
			})
		},
		"steps": func(v value) error {
			return v.array(func(i int, v value) error {
				if i == turn.MaxAllSteps {
					return turn.Errorf(turn.TooLarge, "steps: more than %d", turn.MaxAllSteps)
				}
				op, err := transactionStep(v, namespace, limits)
				tx.Steps = append(tx.Steps, turn.Step{Op: op})
				return err
			})
		},
	})
	return tx, err
}

// condition reads {"key": …} with one of revision, last_seq and exists.
func condition(v value) (c turn.Condition, err error) {
	given := 0
	err = keyed(v, &c.Key)(func(name string, v value) (err error) {
		given++
		switch name {
		case "revision":
			c.Is = turn.AtRevision
			c.N, err = v.number(0)
		case "last_seq":
			c.Is = turn.AtSeq
			c.N, err = v.number(0)
		case "exists":
			var exists bool
			exists, err = v.boolean()
			if c.Is = turn.Absent; exists {
				c.Is = turn.Present
			}
		default:
			err = errUnknownField
		}
		return err
	})
	if err == nil && given != 1 {
		err = wrong("needs one of revision, last_seq and exists")
	}
	return c, err
}

// keyed shows the members of an object but for its key, of which it needs one.
func keyed(v value, k *turn.Key) members {
	return func(member func(name string, v value) error) error {
		given := 0
		err := v.object(func(name string, v value) (err error) {
			switch {
			case name != "key" && name != "key_base64":
				return member(name, v)
			case notGiven(name, v):
				return nil
			}
			given++
			if name == "key" {
				return text(&k.Name)(v)
			}
			return base64Name(&k.Name)(v)
		})
		if err == nil && given != 1 {
			err = wrong("needs key or key_base64, and only one of them")
		}
		return err
	}
}

// transactionStep reads an object with one member, whose name says what the step does.
func transactionStep(v value, namespace string, limits turn.Limits) (op turn.Op, err error) {
	key := turn.Key{Namespace: namespace}
	err = v.object(func(name string, v value) error {
		if notGiven(name, v) {
			return knownStep(name, limits)
		}
		if op != nil {
			return wrong("a step is one operation: this is the second one")
		}
		in := keyed(v, &key)
		op, err = stepOf(name, in, limits)
		var refused *turn.Error
		if errors.As(err, &refused) && refused.Kind == turn.Invalid { // what bodies lack
			err = wrong("%s", strings.TrimPrefix(refused.Message, "body: "))
		}
		return err
	})
	if err == nil && op == nil {
		err = wrong("a step is one operation: there is none")
	}
	setKey(op, key)
	return op, err
}

// knownStep is an error if there is no step of this name.
func knownStep(name string, limits turn.Limits) error {
	nothing := func(func(string, value) error) error { return nil }
	if _, err := stepOf(name, nothing, limits); errors.Is(err, errUnknownField) {
		return err
	}
	return nil
}

func stepOf(name string, in members, limits turn.Limits) (turn.Op, error) {
	switch name {
	case "append":
		return readAppend(in, limits)
	case "set_metadata":
		return readPatch(in)
	case "trim":
		return readTrim(in)
	case "clear":
		return readClear(in)
	case "expire":
		return readExpire(in)
	case "delete":
		return &turn.Delete{}, in.read(nil)
	case "set_fields":
		return readSetFields(in)
	case "remove_fields":
		return readRemoveFields(in)
	case "pop":
		return readPop(in)
	case "edit":
		return readEdit(in)
	case "remove":
		return readRemove(in)
	case "replace":
		return readReplace(in, limits)
	case "retain":
		return readRetain(in)
	case "rename":
		return readRename(in)
	}
	return nil, errUnknownField
}

func setKey(op turn.Op, k turn.Key) {
	switch o := op.(type) {
	case *turn.Append:
		o.Key = k
	case *turn.SetMetadata:
		o.Key = k
	case *turn.Trim:
		o.Key = k
	case *turn.Clear:
		o.Key = k
	case *turn.Expire:
		o.Key = k
	case *turn.Delete:
		o.Keys = []turn.Key{k}
	case *turn.SetFields:
		o.Key = k
	case *turn.RemoveFields:
		o.Key = k
	case *turn.Pop:
		o.Key = k
	case *turn.EditMessage:
		o.Key = k
	case *turn.RemoveMessage:
		o.Key = k
	case *turn.Replace:
		o.Key = k
	case *turn.Retain:
		o.Key = k
	case *turn.Rename:
		o.Key, o.To.Namespace = k, k.Namespace
	}
}
