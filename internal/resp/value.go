package resp

import (
	"strconv"
	"strings"
)

// Kind is the type of a Value, named by the byte that begins its frame.
type Kind byte

const (
	SimpleString Kind = '+'
	SimpleError  Kind = '-'
	Integer      Kind = ':'
	BulkString   Kind = '$'
	Array        Kind = '*'
	Null         Kind = '_' // also the null bulk string and the null array of RESP2
	Double       Kind = ','
	Boolean      Kind = '#'
	BulkError    Kind = '!'
	Verbatim     Kind = '='
	BigNumber    Kind = '('
	Map          Kind = '%'
	Set          Kind = '~'
	Push         Kind = '>'

	attribute Kind = '|' // never the Kind of a Value: see Value.Attrs
)

// Value is a reply, or an element of one.
type Value struct {
	Kind Kind
	// Str is the text of strings, errors and big numbers; of a Verbatim without
	// its format.
	Str []byte
	// Format is the three-letter format of a Verbatim, such as "txt".
	Format string
	// Int is the value of an Integer, and 0 or 1 for a Boolean.
	Int    int64
	Double float64
	// Elems are the elements of an aggregate. In a Map, keys and values alternate.
	Elems []Value
	// Attrs are the attributes sent with the value, keys and values alternating.
	Attrs []Value
}

// Error is an error reply: a code of capital letters, a space, a text.
type Error string

func (e Error) Error() string { return string(e) }

// Code returns the first word of the reply, such as "ERR".
func (e Error) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Message returns what follows the code.
func (e Error) Message() string {
	_, msg, _ := strings.Cut(string(e), " ")
	return msg
}

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.Kind == Null }

// Err returns the Error that v is, nil if it is no error.
func (v Value) Err() error {
	if v.Kind == SimpleError || v.Kind == BulkError {
		return Error(v.Str)
	}
	return nil
}

// Text returns v as text: strings as they are, numbers in decimal, everything
// else empty.
func (v Value) Text() string {
	switch v.Kind {
	case Integer, Boolean:
		return strconv.FormatInt(v.Int, 10)
	case Double:
		return FormatDouble(v.Double)
	default:
		return string(v.Str)
	}
}

// Int64 returns the integer that v is, or that its text spells.
func (v Value) Int64() (int64, bool) {
	switch v.Kind {
	case Integer, Boolean:
		return v.Int, true
	case SimpleString, BulkString, Verbatim, BigNumber:
		return parseInt(v.Str)
	}
	return 0, false
}

// Field returns the value of a key in a Map, or in an Array in which keys and
// values alternate, which is how a map looks in RESP2.
func (v Value) Field(name string) (Value, bool) {
	if v.Kind != Map && v.Kind != Array {
		return Value{}, false
	}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if string(v.Elems[i].Str) == name {
			return v.Elems[i+1], true
		}
	}
	return Value{}, false
}
