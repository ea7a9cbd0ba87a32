package httpapi

import "github.com/turnlog/turnlog/turn"

// What changes one message.

func readEdit(in members) (*turn.EditMessage, error) {
	op := &turn.EditMessage{}
	given := 0
	err := namesMessage(in, &op.Message, &op.Expect, func(name string, v value) (err error) {
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

func readRemove(in members) (*turn.RemoveMessage, error) {
	op := &turn.RemoveMessage{}
	return op, namesMessage(in, &op.Message, &op.Expect, func(string, value) error { return errUnknownField })
}

// namesMessage reads an object that names a message by seq or id, with a condition and other fields.
func namesMessage(in members, m *turn.MessageRef, expect **uint64, other func(name string, v value) error) error {
	err := in(func(name string, v value) (err error) {
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
