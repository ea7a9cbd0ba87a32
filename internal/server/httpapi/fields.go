package httpapi

import "github.com/turnlog/turnlog/turn"

// readSetFields reads the fields of a hash that are to be set.
func readSetFields(in members) (*turn.SetFields, error) {
	op := &turn.SetFields{Type: turn.TypeHash}
	return op, in.read(readers{"fields": newFields(op)})
}

func newFields(op *turn.SetFields) func(value) error {
	return func(v value) error {
		return v.array(func(_ int, v value) error {
			if len(op.Fields) == turn.MaxElements {
				return turn.Errorf(turn.TooLarge, "fields: more than %d in one call", turn.MaxElements)
			}
			f, err := newField(v)
			op.Fields = append(op.Fields, f)
			return err
		})
	}
}

func newField(v value) (f turn.Field, err error) {
	names, values := 0, 0
	err = v.object(func(name string, v value) (err error) {
		none := notGiven(name, v)
		switch {
		case name == "name" && !none:
			names++
			f.Name, err = v.text()
		case name == "name_base64" && !none:
			names++
			err = base64Name(&f.Name)(v)
		case name == "data":
			values++
			f.Value = v
		case name == "data_base64" && !none:
			values++
			f.Value, err = v.base64()
		case name != "name" && name != "name_base64" && name != "data_base64":
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
	return op, in.read(readers{"names": fieldNames(op, text), "names_base64": fieldNames(op, base64Name)})
}

func fieldNames(op *turn.RemoveFields, read func(*string) func(value) error) func(value) error {
	return func(v value) error {
		return v.array(func(_ int, v value) error {
			if len(op.Names) == turn.MaxElements {
				return turn.Errorf(turn.TooLarge, "names: more than %d in one call", turn.MaxElements)
			}
			var field string
			err := read(&field)(v)
			op.Names = append(op.Names, field)
			return err
		})
	}
}
