package jsonl

import (
	"bytes"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestParseLine(t *testing.T) {
	const deep = `{"role":"assistant", "content":null,  "tool_calls":[{"id":"call_0"}], "id":"a#5"}`
	for _, c := range []struct {
		name, message string
		id, data      string
	}{
		{"wrapped", `{"id":"x","data": {"a": 1.0}}`, "x", `{"a": 1.0}`},
		{"wrapped, as exported", `{"seq":3,"time":17,"id":"x","data":"<&>"}`, "x", `"<&>"`},
		{"wrapped null", `{"id":"x","data":null}`, "x", "null"},
		{"base64", `{"id":"x","data_base64":"AAH/"}`, "x", "\x00\x01\xff"},
		{"empty base64", `{"id":"x","data_base64":""}`, "x", ""},
		{"no id", `{"data":1}`, "", "1"},
		{"null id", `{"id":null,"data":1}`, "", "1"},
		{"chat message, byte for byte", deep, "a#5", deep},
		{"plain object with data", `{"type":"human","data":{"content":"x"}}`, "",
			`{"type":"human","data":{"content":"x"}}`},
		{"escapes stay", `{"id":"x","data":"\u00e9\/"}`, "x", `"\u00e9\/"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := ParseLine([]byte(`{"session":"s","messages":[` + c.message + "]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if m := l.Messages[0]; l.Session != "s" || m.ID != c.id || string(m.Data) != c.data {
				t.Fatalf("id %q, data %q; want %q, %q", m.ID, m.Data, c.id, c.data)
			}
		})
	}
}

func TestParseLineRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "EOF"},
		{`{"session":"s","messages":[]} x`, "more than one"},
		{`{"messages":[]}`, "session"},
		{`{"session":"","messages":[]}`, "session"},
		{`{"session":"s"}`, "messages"},
		{`{"session":"s","session_base64":"eA==","messages":[]}`, "both"},
		{`{"session":"s","messages":[],"extra":1}`, "extra"},
		{`{"session":"s","messages":[17]}`, "message 1"},
		{`{"session":"s","messages":[{},null]}`, "message 2"},
		{`{"session":"s","messages":[{"id":5,"data":1}]}`, "not a string"},
		{`{"session":"s","messages":[{"data":1,"data_base64":""}]}`, "both"},
		{`{"session":"s","messages":[{"data_base64":"?"}]}`, "base64"},
		{`{"session":"s","messages":[{"data_base64":[1]}]}`, "base64"},
		{`{"session":"s","messages":[{"data":1,"id":"x","id_base64":"eA=="}]}`, "id_base64"},
		{`{"session":"s","metadata_base64":{"?":""},"messages":[]}`, "metadata_base64"},
		{`{"session":"s","meta":{"a":"b"},"messages":[]}`, `unknown field "meta"`},
		{`{"session":"s","messages":[{"data":tru}]}`, "invalid character"},
	} {
		if _, err := ParseLine([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

// FuzzMessageRoundTrip: any payload, id and key that export writes is what import
// reads, on a single line.
func FuzzMessageRoundTrip(f *testing.F) {
	for _, data := range []string{"", " ", "{}", ` {"a":1}`, "{\n}", `"x`, "\xff", `"` + "\xff" + `"`, "17", "\u2028",
		`{"a":"</script>"}`, "null", "\r"} {
		f.Add("key", "id", []byte(data))
	}
	f.Add("\xff\x00", "q\"uote\u2028", []byte("1"))
	f.Add("key", "\xff", []byte(strings.Repeat("[", 9998)+strings.Repeat("]", 9998)))
	f.Fuzz(func(t *testing.T, key, id string, data []byte) {
		if key == "" {
			t.Skip()
		}
		text := AppendLineStart(nil, key, map[string]string{"k": key, id: "v"}, turn.Retention{})
		text = AppendMessage(text, &turn.Message{Seq: 7, Time: -1, ID: id, Data: data})
		text = append(text, "]}"...)
		if bytes.ContainsAny(text, "\r\n") {
			t.Fatalf("more than one line: %q", text)
		}
		l, err := ParseLine(text)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if m := l.Messages[0]; l.Session != key || l.Meta[id] != "v" || m.ID != id || !bytes.Equal(m.Data, data) {
			t.Fatalf("got %q %q %q from %s", l.Session, m.ID, m.Data, text)
		}
	})
}

// Names and values of metadata that are not all UTF-8 stand beside those that are.
func TestLineWithBothKindsOfMetadata(t *testing.T) {
	l, err := ParseLine([]byte(`{"session":"s","metadata":{"a":"b"},"metadata_base64":{"Yw==":"ZA=="},"messages":[]}`))
	if err != nil || len(l.Meta) != 2 || l.Meta["a"] != "b" || l.Meta["c"] != "d" {
		t.Errorf("metadata %q, %v", l.Meta, err)
	}
}
