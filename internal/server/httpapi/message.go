package httpapi

import "github.com/turnlog/turnlog/turn"

// What changes one message.

func readEdit(in members) (*turn.EditMessage, error) {
	op := &turn.EditMessage{}
	given := 0
	err := namesMessage(in, &op.Message, &op.Expect, readers{
		"data":        func(v value) error { given++; op.Data = v; return nil },
		"data_base64": func(v value) (err error) { given++; op.Data, err = v.base64(); return err },
	})
	if err == nil && given != 1 {
		err = turn.Errorf(turn.Invalid, "body: needs data or data_base64, and only one of them")
	}
	return op, err
}

func readRemove(in members) (*turn.RemoveMessage, error) {
	op := &turn.RemoveMessage{}
	return op, namesMessage(in, &op.Message, &op.Expect, readers{})
}

// namesMessage reads an object that names a message by seq or id, with a condition and other fields.
func namesMessage(in members, m *turn.MessageRef, condition **uint64, by readers) error {
	by["seq"], by["id"], by["expect"] = number(&m.Seq, 1), text(&m.ID), expect(condition)
	err := in.read(by)
	if err == nil && (m.Seq == 0) == (m.ID == "") {
		err = turn.Errorf(turn.Invalid, "body: needs seq or id, and only one of them")
	}
	return err
}
