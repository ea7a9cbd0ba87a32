package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestDecodeAppendKeepsPayloadBytes(t *testing.T) {
	payloads := []string{
		`{}`, `[]`, `""`, `null`, `true`, `0`, `-0.0e+5`, `"<&>\u2028"`, `{"b":1, "a":2,"a":3}`,
		"{\n\t\"x\" : [ 1 ,2 ] }",
		`123456789012345678901234567890`, `"\ud800"`, `"é😀\/"`, `"}]\\\""`, `[[[]],{"a":[{}]}]`,
	}
	body := "\n{\t\"messages\" : ["
	for i, p := range payloads {
		if i > 0 {
			body += " , "
		}
		body += ` { "data" : ` + p + "\r\n }"
	}
	op, err := readAppend(inBody([]byte(body+" ] } \n")), turn.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range payloads {
		if got := string(op.Messages[i].Data); got != p {
			t.Errorf("payload %d: %q, want %q", i, got, p)
		}
	}
}

func TestDecodeAppend(t *testing.T) {
	op, err := readAppend(inBody([]byte(`{"expect":0,"ttl_ms":9007199254740992,"\u006dessages":[`+
		`{"id":"a\u00e9\ud83d\ude00\"","data":1},{"data_base64":"AP8="},{"data_base64":"","id":""}]}`)),
		turn.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if *op.Expect != 0 || op.TTL != 1<<53 || len(op.Messages) != 3 {
		t.Errorf("got %+v", op)
	}
	if m := op.Messages[0]; m.ID != "aé😀\"" || string(m.Data) != "1" {
		t.Errorf("first message %+v", m)
	}
	if m := op.Messages[1]; m.ID != "" || string(m.Data) != "\x00\xff" {
		t.Errorf("second message %+v", m)
	}
}

// Each of these is refused with a message that names the field.
func TestRequestsAreStrict(t *testing.T) {
	appends := func(b []byte) error { _, err := readAppend(inBody(b), turn.DefaultLimits()); return err }
	replace := func(b []byte) error { _, err := readReplace(inBody(b), turn.DefaultLimits()); return err }
	pop := func(b []byte) error { _, err := readPop(inBody(b)); return err }
	trim := func(b []byte) error { _, err := readTrim(inBody(b)); return err }
	edit := func(b []byte) error { _, err := readEdit(inBody(b)); return err }
	fork := func(b []byte) error { _, err := readFork(inBody(b)); return err }
	expire := func(b []byte) error { _, err := readExpire(inBody(b)); return err }
	patch := func(b []byte) error { _, err := readPatch(inBody(b)); return err }
	tests := []struct {
		decode func([]byte) error
		body   string
		want   string // part of the message
	}{
		{appends, ``, `body: not valid JSON`},
		{appends, `{`, `body: not valid JSON at byte 1`},
		{appends, `{"messages":[{"data":01}]}`, `body: not valid JSON at byte 23`},
		{appends, `{"messages":[{"data":1}]} x`, `body: not valid JSON at byte 27`},
		{appends, `{"messages":[{"data":1}]}{}`, `body: not valid JSON`},
		{appends, `{"messages":[{"data":1},]}`, `body: not valid JSON`},
		{appends, "{\"messages\":[{\"data\":\"\xff\"}]}", `body: not valid UTF-8; send other bytes as data_base64`},
		{appends, "\xef\xbb\xbf{}", `body: not valid JSON`},
		{appends, `[]`, `body: must be an object, is an array`},
		{appends, `null`, `body: must be an object, is null`},
		{appends, `{}`, `messages: missing`},
		{appends, `{"messages":{}}`, `messages: must be an array, is an object`},
		{appends, `{"messages":[7]}`, `messages[0]: must be an object, is a number`},
		{appends, `{"messages":[{"data":1},{}]}`, `messages[1]: needs data or data_base64, and only one`},
		{appends, `{"messages":[{"data":1,"data_base64":""}]}`, `messages[0]: needs data or data_base64, and only one`},
		{appends, `{"messages":[{"data":1,"data":2}]}`, `messages[0].data: given twice`},
		{appends, `{"messages":[{"data":1,"dat\u0061":2}]}`, `messages[0].data: given twice`},
		{appends, `{"messages":[{"Data":1}]}`, `messages[0]."Data": unknown field`},
		{appends, `{"messages":[{"data":1,"seq":1}]}`, `messages[0].seq: unknown field`},
		{appends, `{"messages":[{"id":7,"data":1}]}`, `messages[0].id: must be a string, is a number`},
		{appends, `{"messages":[{"id":"\ud800","data":1}]}`, `messages[0].id: \ud800 is half a surrogate pair`},
		{appends, `{"messages":[{"id":"\udc00\ud800","data":1}]}`, `messages[0].id: \udc00 is half`},
		{appends, `{"messages":[{"id":"\ud800\u0041","data":1}]}`, `messages[0].id: \ud800 is half`},
		{appends, `{"messages":[{"id":"\udc00\udc00","data":1}]}`, `messages[0].id: \udc00 is half`},
		{appends, `{"messages":[{"data_base64":"A"}]}`, `messages[0].data_base64: not standard base64`},
		{appends, `{"messages":[{"data_base64":"_-8="}]}`, `messages[0].data_base64: not standard base64`},
		{appends, `{"messages":[{"data_base64":"AB=="}]}`, `messages[0].data_base64: not standard base64`},
		{appends, `{"messages":[{"data_base64":"AA\n=="}]}`, `messages[0].data_base64: not standard base64`},
		{appends, `{"messages":[{"data_base64":[]}]}`, `messages[0].data_base64: must be a string, is an array`},
		{appends, `{"messages":[],"messages":[]}`, `messages: given twice`},
		{appends, `{"messages":[],"expect":-1}`, `expect: must be an integer from 0 to 9007199254740992, is -1`},
		{appends, `{"messages":[],"expect":1.0}`, `expect: must be an integer`},
		{appends, `{"messages":[],"expect":1e3}`, `expect: must be an integer`},
		{appends, `{"messages":[],"expect":9007199254740993}`, `expect: must be an integer`},
		{appends, `{"messages":[],"expect":99999999999999999999}`, `expect: must be an integer`},
		{appends, `{"messages":[],"expect":"1"}`, `expect: must be a number, is a string`},
		{appends, `{"messages":[],"expect":null}`, `expect: must be a number, is null`},
		{appends, `{"messages":[],"expect":true}`, `expect: must be a number, is a boolean`},
		{appends, `{"messages":[],"ttl_ms":0}`, `ttl_ms: must be an integer from 1`},
		{appends, `{"messages":[],"ttl":1}`, `ttl: unknown field`},
		{appends, `{"messages":[],"` + strings.Repeat("x", 999) + `":1}`, strings.Repeat("x", 64) + `: unknown field`},
		{appends, `{"messages":[],"\ud800":1}`, `is half a surrogate pair`},
		{replace, `{"messages":[]}`, `from: missing`},
		{replace, `{"from":0}`, `from: must be an integer from 1`},
		{pop, `{"count":0}`, `count: must be an integer from 1`},
		{pop, `{"from":"left"}`, `from: must be "newest", "head" or "tail", is "left"`},
		{pop, `{"from":1}`, `from: must be a string, is a number`},
		{trim, `{}`, `needs keep_last or before, and only one`},
		{trim, `{"keep_last":1,"before":2}`, `needs keep_last or before, and only one`},
		{edit, `{"data":1}`, `needs seq or id, and only one`},
		{edit, `{"seq":1,"id":"a","data":1}`, `needs seq or id, and only one`},
		{edit, `{"seq":1}`, `needs data or data_base64, and only one`},
		{edit, `{"seq":1,"data":1,"data_base64":""}`, `needs data or data_base64, and only one`},
		{edit, `{"seq":0,"data":1}`, `seq: must be an integer from 1`},
		{edit, `{"seq":1,"data":1,"messages":[]}`, `messages: unknown field`},
		{fork, `{}`, `needs to or to_base64`},
		{fork, `{"to":"a","to_base64":"AA=="}`, `needs to or to_base64`},
		{fork, `{"to":"a","at":0}`, `at: must be an integer from 1`},
		{expire, `{}`, `needs one of ttl_ms, at and never`},
		{expire, `{"ttl_ms":1,"never":true}`, `needs one of ttl_ms, at and never`},
		{expire, `{"never":false}`, `never: must be true`},
		{expire, `{"ttl_ms":1,"slide":1}`, `slide: must be a boolean, is a number`},
		{patch, `{}`, `metadata: missing`},
		{patch, `{"metadata":[]}`, `metadata: must be an object, is an array`},
		{patch, `{"metadata":{"a":1}}`, `metadata.a: must be a string, or null to remove it, is a number`},
		{patch, `{"metadata":{"a":"1","a":null}}`, `metadata.a: given twice`},
	}
	for _, tt := range tests {
		err := tt.decode([]byte(tt.body))
		if turn.KindOf(err) != turn.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.100s\n got %v\nwant %s", tt.body, err, tt.want)
		}
	}
}

// A field that is null is one that is not given, in each body: JSON of many languages has such fields where a value is
// missing. A payload that is null is a payload, and a condition that is null is an error, since what it was to prevent
// would be written.
func TestNullIsNotGiven(t *testing.T) {
	limits := turn.DefaultLimits()
	decoders := map[string]func([]byte) (any, error){
		"append":  func(b []byte) (any, error) { return readAppend(inBody(b), limits) },
		"replace": func(b []byte) (any, error) { return readReplace(inBody(b), limits) },
		"pop":     func(b []byte) (any, error) { return readPop(inBody(b)) },
		"trim":    func(b []byte) (any, error) { return readTrim(inBody(b)) },
		"edit":    func(b []byte) (any, error) { return readEdit(inBody(b)) },
		"remove":  func(b []byte) (any, error) { return readRemove(inBody(b)) },
		"fork":    func(b []byte) (any, error) { return readFork(inBody(b)) },
		"rename":  func(b []byte) (any, error) { return readRename(inBody(b)) },
		"expire":  func(b []byte) (any, error) { return readExpire(inBody(b)) },
		"retain":  func(b []byte) (any, error) { return readRetain(inBody(b)) },
		"patch":   func(b []byte) (any, error) { return readPatch(inBody(b)) },
		"node":    func(b []byte) (any, error) { return readNode(inBody(b)) },
		"hash":    func(b []byte) (any, error) { return decodeHashPatch(b, turn.Key{Name: "h"}) },
		"tx":      func(b []byte) (any, error) { return decodeTransaction(b, "0", limits) },
	}
	for _, tt := range []struct{ body, with, without string }{
		{"append", `{"messages":[{"data":null,"id":null,"data_base64":null}],"ttl_ms":null,"must_exist":null,"metadata":null}`,
			`{"messages":[{"data":null}]}`},
		{"replace", `{"from":2,"messages":null}`, `{"from":2}`},
		{"pop", `{"count":null,"from":null}`, `{}`},
		{"trim", `{"keep_last":null,"before":3}`, `{"before":3}`},
		{"edit", `{"seq":null,"id":"m","data":null,"data_base64":null}`, `{"id":"m","data":null}`},
		{"remove", `{"seq":3,"id":null}`, `{"seq":3}`},
		{"fork", `{"to":null,"to_base64":"AA==","at":null}`, `{"to_base64":"AA=="}`},
		{"rename", `{"to":"x","to_base64":null,"replace":null}`, `{"to":"x"}`},
		{"expire", `{"ttl_ms":null,"at":5,"never":null,"slide":null}`, `{"at":5}`},
		{"retain", `{"messages":null,"turns":2,"all":null}`, `{"turns":2}`},
		{"patch", `{"metadata":{"a":null}}`, `{"metadata":{"a":null}}`},
		{"node", `{"id":"n","raft_addr":"h:1","learner":null}`, `{"id":"n","raft_addr":"h:1"}`},
		{"hash", `{"id":null,"fields":[{"name":"f","name_base64":null,"data":1,"data_base64":null}],"names":null,` +
			`"names_base64":null}`, `{"fields":[{"name":"f","data":1}]}`},
		{"tx", `{"id":null,"steps":[{"append":null,"clear":{"key":"a","key_base64":null}},` +
			`{"set_fields":{"key":"h","fields":null}},{"remove_fields":{"key":"h","names":null}}]}`,
			`{"steps":[{"clear":{"key":"a"}},{"set_fields":{"key":"h"}},{"remove_fields":{"key":"h"}}]}`},
	} {
		with, err := decoders[tt.body]([]byte(tt.with))
		without, errWithout := decoders[tt.body]([]byte(tt.without))
		if err != nil || errWithout != nil || !reflect.DeepEqual(with, without) {
			t.Errorf("%s: %+v, %v; without: %+v, %v", tt.with, with, err, without, errWithout)
		}
	}
	for _, tt := range [][3]string{
		{"append", `{"messages":null}`, "messages: missing"},
		{"patch", `{"metadata":null}`, "metadata: missing"},
		{"replace", `{"from":null}`, "from: missing"},
		{"expire", `{"never":null}`, "needs one of ttl_ms, at and never"},
		{"edit", `{"seq":1,"data":null,"data_base64":""}`, "needs data or data_base64, and only one"},
		{"append", `{"messages":[{"data":1}],"expect":null}`, "expect: must be a number, is null"},
		{"hash", `{"names":["f"],"expect":null}`, "expect: must be a number, is null"},
		{"tx", `{"conditions":null,"steps":[{"clear":{"key":"a"}}]}`, "conditions: must be an array, is null"},
		{"tx", `{"conditions":[{"key":"a","revision":1,"exists":null}],"steps":[]}`, "conditions[0].exists: must be a boolean"},
		{"append", `{"messages":[null]}`, "messages[0]: must be an object, is null"},
		{"hash", `{"names":[null]}`, "names[0]: must be a string, is null"},
		{"append", `{"messages":[{"data":1}],"expct":null}`, "expct: unknown field"},
		{"tx", `{"steps":[{"appendd":null}]}`, "appendd: unknown field"},
		{"append", `{"messages":[{"data":1}],"ttl_ms":null,"ttl_ms":5}`, "ttl_ms: given twice"},
	} {
		_, err := decoders[tt[0]]([]byte(tt[1]))
		if turn.KindOf(err) != turn.Invalid || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%s: got %v, want %s", tt[1], err, tt[2])
		}
	}
}

func TestDecodeAppendStopsAtTheLimit(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.AppendMessages = 2
	_, err := readAppend(inBody([]byte(`{"messages":[{"data":1},{"data":1},{"data":1}]}`)), limits)
	if turn.KindOf(err) != turn.TooLarge {
		t.Errorf("got %v", err)
	}
}

// What is accepted means the same to the standard decoder, and payloads are
// pieces of the body.
func FuzzDecodeAppend(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"id":"a","data":{"role":"user"}},{"data_base64":"AP8="}],"expect":7,"ttl_ms":1}`,
		` { "messages" : [ ] } `, `{"messages":[{"data":"\ud83d\ude00\\\"]}"}]}`,
		`{"messages":[{"data":[1,{"a":-1e5}]}]}`,
		`{"messages":[{"id":"\ud800","data":null}]}`, `{"a":{"b":[]}}`, `{"messages":[{"data":1}`, `"`, `{"\`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		op, err := readAppend(inBody(bytes.Clone(body)), turn.DefaultLimits())
		if err != nil {
			if k := turn.KindOf(err); k != turn.Invalid && k != turn.TooLarge {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		var want struct {
			Messages []struct {
				ID   string          `json:"id"`
				Data json.RawMessage `json:"data"`
				B64  *string         `json:"data_base64"`
			} `json:"messages"`
			Expect *uint64 `json:"expect"`
			TTL    int64   `json:"ttl_ms"`
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q: accepted, but %v", body, err)
		}
		if len(want.Messages) != len(op.Messages) || want.TTL != op.TTL || (want.Expect == nil) != (op.Expect == nil) ||
			want.Expect != nil && *want.Expect != *op.Expect {
			t.Fatalf("%q: %+v, want %+v", body, op, want)
		}
		for i, m := range op.Messages {
			data := []byte(want.Messages[i].Data)
			if b64 := want.Messages[i].B64; b64 != nil {
				if data, err = base64.StdEncoding.DecodeString(*b64); err != nil {
					t.Fatal(err)
				}
			} else if data == nil {
				data = []byte("null")
			}
			if m.ID != want.Messages[i].ID || !bytes.Equal(m.Data, data) {
				t.Fatalf("%q: message %d is %+v, want %+v", body, i, m, want.Messages[i])
			}
		}
	})
}

// No body makes a decoder panic or return an error of another kind.
func FuzzDecodeOthers(f *testing.F) {
	for _, s := range []string{
		`{"from":1,"messages":[{"data":1}],"expect":0}`, `{"count":3,"from":"head"}`, `{"keep_last":4}`, `{"before":4}`,
		`{"to":"x","at":1}`, `{"to_base64":"AA=="}`, `{"ttl_ms":1,"slide":true}`, `{"at":5}`, `{"never":true}`,
		`{"metadata":{"a":"b","c":null},"expect":1}`, `{"id":"n4","raft_addr":"h:1"}`, `{}`,
		`{"seq":3,"data":{"a":1}}`, `{"id":"m","data_base64":"AP8="}`, `{"messages":3}`, `{"turns":2}`, `{"all":true}`,
		`{"to":"x","replace":true}`,
		`{"id":"i","conditions":[{"key":"a","revision":3},{"key":"b","last_seq":4},{"key_base64":"AA==","exists":false}],` +
			`"steps":[{"pop":{"key":"a","count":2,"from":"head"}},{"append":{"key":"b","messages":[{"data":1}]}}]}`,
		`{"steps":[{"edit":{"key":"a","seq":3,"data":"x"}},{"remove":{"key":"a","id":"m"}},` +
			`{"replace":{"key":"b","from":2,"messages":[{"id":"m","data":null}]}},{"retain":{"key":"b","turns":2}}]}`,
		`{"steps":[{"rename":{"key":"a","to":"b","replace":true}},{"delete":{"key":"c"}},{"retain":{"key":"c","all":true}},` +
			`{"set_fields":{"key":"h","fields":[{"name":"f","data":"v"}]}}]}`,
	} {
		f.Add([]byte(s))
	}
	decoders := []func([]byte) error{
		func(b []byte) error { _, err := readReplace(inBody(b), turn.DefaultLimits()); return err },
		func(b []byte) error { _, err := readPop(inBody(b)); return err },
		func(b []byte) error { _, err := readTrim(inBody(b)); return err },
		func(b []byte) error { _, err := readClear(inBody(b)); return err },
		func(b []byte) error { _, err := readFork(inBody(b)); return err },
		func(b []byte) error { _, err := readExpire(inBody(b)); return err },
		func(b []byte) error { _, err := readPatch(inBody(b)); return err },
		func(b []byte) error { _, err := readNode(inBody(b)); return err },
		func(b []byte) error { _, err := readNothing(inBody(b)); return err },
		func(b []byte) error { _, err := readEdit(inBody(b)); return err },
		func(b []byte) error { _, err := readRemove(inBody(b)); return err },
		func(b []byte) error { _, err := readRetain(inBody(b)); return err },
		func(b []byte) error { _, err := readRename(inBody(b)); return err },
		func(b []byte) error { _, err := decodeTransaction(b, "0", turn.DefaultLimits()); return err },
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for i, decode := range decoders {
			if err := decode(body); err != nil && turn.KindOf(err) != turn.Invalid &&
				turn.KindOf(err) != turn.TooLarge {
				t.Fatalf("decoder %d, %q: %v", i, body, err)
			}
		}
	})
}

func BenchmarkDecodeAppend(b *testing.B) {
	body := []byte(`{"messages":[{"id":"0197f0b1-5f2e-7cc1-b0f5-8a1d8e4a7c11","data":{"role":"user","content":"` +
		strings.Repeat("Where is my order? ", 15) + `"}}],"expect":17}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readAppend(inBody(body), turn.DefaultLimits()); err != nil {
			b.Fatal(err)
		}
	}
}
