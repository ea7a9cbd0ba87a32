package httpapi

import "github.com/turnlog/turnlog/turn"

// readSetFields reads the fields of a hash that are to be set.
func readSetFields(in members) (*turn.SetFields, error) {
	op := &turn.SetFields{Type: turn.TypeHash}
	return op, in(func(name string, v value) error { return fieldsMember(name, v, op) })
}

func fieldsMember(name string, v value, op *turn.SetFields) error {
	if name != "fields" {
		return errUnknownField
	}
	return v.array(func(_ int, v value) error {
		if len(op.Fields) == turn.MaxElements {
			return turn.Errorf(turn.TooLarge, "fields: more than %d in one call", turn.MaxElements)
		}
		f, err := newField(v)
		op.Fields = append(op.Fields, f)
		return err
	})
}

func newField(v value) (f turn.Field, err error) {
	names, values := 0, 0
	err = v.object(func(name string, v value) (err error) {
		switch name {
		case "name":
			names++
			f.Name, err = v.text()
		case "name_base64":
			names++
			err = base64Name(&f.Name)(v)
		case "data":
			values++
			f.Value = v
		case "data_base64":
			values++
			f.Value, err = v.base64()
		default:
			err = errUnknownField
		}
		return err
	})
	switch {
	case err == nil && names != 1:
		err = wrong("needs name or name_base64, and only one of them")
	case err == nil && values != 1:
		err = wrong("needs data or data_base64, and only one of them")
	}
	return f, err
}

// readRemoveFields reads the names of fields that are to be removed.
func readRemoveFields(in members) (*turn.RemoveFields, error) {
	op := &turn.RemoveFields{Type: turn.TypeHash}
	return op, in(func(name string, v value) error { return namesMember(name, v, op) })
}

func namesMember(name string, v value, op *turn.RemoveFields) error {
	if name != "names" && name != "names_base64" {
		return errUnknownField
	}
	return v.array(func(_ int, v value) error {
		if len(op.Names) == turn.MaxElements {
			return turn.Errorf(turn.TooLarge, "names: more than %d in one call", turn.MaxElements)
		}
		read := text
		if name == "names_base64" {
			read = base64Name
		}
		var field string
		err := read(&field)(v)
		op.Names = append(op.Names, field)
		return err
	})
}
