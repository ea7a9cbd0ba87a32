package httpapi

import "github.com/turnlog/turnlog/turn"

// What changes one message.

type editedReply struct {
	Seq      uint64 `json:"seq"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

func (s *Server) postEdit(c *call) (any, error) {
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	op, err := decodeEdit(body)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return editedReply{res.First, res.Count, res.Revision}, err
}

func (s *Server) postRemove(c *call) (any, error) {
	op, err := decodeRemove(c)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return removedReply{res.Removed, res.Count, res.Revision}, err
}

func decodeEdit(body []byte) (*turn.EditMessage, error) {
	op := &turn.EditMessage{}
	given := 0
	err := messageBody(body, &op.Message, &op.Expect, func(name string, v value) (err error) {
		switch name {
		case "data":
			op.Data = v
		case "data_base64":
			op.Data, err = v.base64()
		default:
			return errUnknownField
		}
		given++
		return err
	})
	if err == nil && given != 1 {
		err = turn.Errorf(turn.Invalid, "body: needs data or data_base64, and only one of them")
	}
	return op, err
}

func decodeRemove(c *call) (*turn.RemoveMessage, error) {
	return decodeBody(c, func(body []byte) (*turn.RemoveMessage, error) {
		op := &turn.RemoveMessage{}
		return op, messageBody(body, &op.Message, &op.Expect, func(string, value) error { return errUnknownField })
	})
}

// messageBody reads a body that names a message by seq or id, with a condition and other fields.
func messageBody(body []byte, m *turn.MessageRef, expect **uint64, other func(name string, v value) error) error {
	err := parseBody(body, func(name string, v value) (err error) {
		switch name {
		case "seq":
			m.Seq, err = v.number(1)
		case "id":
			m.ID, err = v.text()
		case "expect":
			*expect, err = expectField(v)
		default:
			err = other(name, v)
		}
		return err
	})
	if err == nil && (m.Seq == 0) == (m.ID == "") {
		err = turn.Errorf(turn.Invalid, "body: needs seq or id, and only one of them")
	}
	return err
}
