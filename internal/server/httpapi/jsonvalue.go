package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/turnlog/turnlog/turn"
)

// value is one JSON value of a request body: valid, in UTF-8, and without
// surrounding white space. It shares the body's memory.
//
// The standard decoder is not used for requests because it accepts what could
// be a mistake in an append (other cases of a field's name, a field given twice,
// broken Unicode) and does not leave a payload's bytes as they were sent.
type value []byte

// maxNumber is the greatest integer that every JSON implementation keeps exact.
const maxNumber = 1 << 53

// fieldError says which field of a body is wrong. Its path grows while it is
// handed up: "data_base64" becomes "messages[3].data_base64".
type fieldError struct {
	path, text string
}

func (e *fieldError) Error() string {
	if e.path == "" {
		return "body: " + e.text
	}
	return e.path + ": " + e.text
}

func wrong(format string, args ...any) error {
	return &fieldError{text: fmt.Sprintf(format, args...)}
}

var errUnknownField = errors.New("unknown field")

// within puts name in front of the path of err.
func within(name string, err error) error {
	var fe *fieldError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errUnknownField):
		fe = &fieldError{text: errUnknownField.Error()}
	case !errors.As(err, &fe):
		return err
	}
	if fe.path != "" && !strings.HasPrefix(fe.path, "[") {
		name += "."
	}
	return &fieldError{path: name + fe.path, text: fe.text}
}

// parseBody checks that body is a JSON object and calls member for each of its
// members, as value.object does.
func parseBody(body []byte, member func(name string, v value) error) error {
	if !utf8.Valid(body) {
		return turn.Errorf(turn.Invalid, "body: not valid UTF-8; send other bytes as data_base64")
	}
	if !json.Valid(body) {
		var ignored json.RawMessage
		err := json.Unmarshal(body, &ignored) // says what is wrong, and where
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return turn.Errorf(turn.Invalid, "body: not valid JSON at byte %d: %v", syntax.Offset, err)
		}
		return turn.Errorf(turn.Invalid, "body: not valid JSON")
	}
	err := value(bytes.Trim(body, " \t\r\n")).object(member)
	if fe := (*fieldError)(nil); errors.As(err, &fe) {
		return turn.Errorf(turn.Invalid, "%v", fe)
	}
	return err
}

func (v value) mismatch(want string) error {
	return wrong("must be %s, is %s", want, v.kind())
}

func (v value) kind() string {
	switch v[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// object calls member for each member of the object v. member returns
// errUnknownField for a name that it does not know.
func (v value) object(member func(name string, v value) error) error {
	if v[0] != '{' {
		return v.mismatch("an object")
	}
	var few [8]string
	seen := few[:0]
	return v.members(func(name string, m value) error {
		if slices.Contains(seen, name) {
			return wrong("given twice")
		}
		seen = append(seen, name)
		return member(name, m)
	})
}

// members is object for a v that is surely one, and leaves duplicates to member.
func (v value) members(member func(name string, v value) error) error {
	i := skipSpace(v, 1)
	for v[i] != '}' {
		nameEnd := skipValue(v, i)
		name, err := v[i:nameEnd].text()
		if err != nil {
			return within(quoted(string(v[i:nameEnd])), err)
		}
		i = skipSpace(v, skipSpace(v, nameEnd)+1) // past the colon
		end := skipValue(v, i)
		if err := member(name, v[i:end:end]); err != nil {
			return within(quoted(name), err)
		}
		i = skipSpace(v, end)
		if v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return nil
}

// quoted is a field's name as an error shows it.
func quoted(name string) string {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return fmt.Sprintf("%.64q", name)
		}
	}
	return name[:min(len(name), 64)]
}

// array calls each for each element of the array v.
func (v value) array(each func(i int, v value) error) error {
	if v[0] != '[' {
		return v.mismatch("an array")
	}
	at := skipSpace(v, 1)
	for n := 0; v[at] != ']'; n++ {
		end := skipValue(v, at)
		if err := each(n, v[at:end:end]); err != nil {
			return within("["+strconv.Itoa(n)+"]", err)
		}
		at = skipSpace(v, end)
		if v[at] == ',' {
			at = skipSpace(v, at+1)
		}
	}
	return nil
}

// text returns the string v.
func (v value) text() (string, error) {
	if v[0] != '"' {
		return "", v.mismatch("a string")
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1]), nil
	}
	if err := v.checkSurrogates(); err != nil {
		return "", err
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return "", wrong("%v", err)
	}
	return s, nil
}

// checkSurrogates refuses half a surrogate pair: every such half would be
// decoded to the same replacement character, and two ids would become one.
func (v value) checkSurrogates() error {
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			continue
		}
		i++
		if v[i] != 'u' {
			continue
		}
		r := hex4(v[i+1:])
		i += 4
		switch {
		case r < 0xd800 || r > 0xdfff:
		case r < 0xdc00 && bytes.HasPrefix(v[i+1:], []byte(`\u`)) && hex4(v[i+3:])&0xfc00 == 0xdc00:
			i += 6
		default:
			return wrong(`\u%04x is half a surrogate pair`, r)
		}
	}
	return nil
}

func hex4(b []byte) uint64 {
	r, _ := strconv.ParseUint(string(b[:4]), 16, 32) // valid JSON has four digits here
	return r
}

// base64 returns the bytes that the string v is the standard base64 of.
func (v value) base64() ([]byte, error) {
	s, err := v.text()
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, wrong("not standard base64 (RFC 4648, with padding)")
	}
	return data, nil
}

// number returns the integer v, which must be between least and 2^53.
func (v value) number(least uint64) (uint64, error) {
	if k := v.kind(); k != "a number" {
		return 0, v.mismatch("a number")
	}
	n, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil || n < least || n > maxNumber {
		return 0, wrong("must be an integer from %d to %d, is %.32s", least, uint64(maxNumber), v)
	}
	return n, nil
}

func (v value) boolean() (bool, error) {
	switch string(v) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, v.mismatch("a boolean")
}

func (v value) null() bool { return v[0] == 'n' }

func skipSpace(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\t' || v[i] == '\n' || v[i] == '\r' {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends. v is valid JSON.
func skipValue(v []byte, i int) int {
	depth := 0
	for {
		switch v[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			i = stringEnd(v, i)
		case ' ', '\t', '\n', '\r', ',', ':':
		default: // a number or a word
			for i+1 < len(v) && !bytes.ContainsRune([]byte(",]} \t\n\r"), rune(v[i+1])) {
				i++
			}
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// stringEnd returns where the quote is that ends the string which begins at i.
func stringEnd(v []byte, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i
}
