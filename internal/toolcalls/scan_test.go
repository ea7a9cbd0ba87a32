package toolcalls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func found(data string) string {
	var all []string
	scan([]byte(data), func(id []byte, result bool) {
		kind := "call "
		if result {
			kind = "result "
		}
		all = append(all, kind+string(id))
	})
	return strings.Join(all, ", ")
}

// What entries in existing logs do depends on each of these.
func TestScan(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function"},{"id":"y"}]}`, "call x, call y"},
		{`{"role":"tool","tool_call_id":"x","content":"7"}`, "result x"},
		{`{"type":"function_call","id":"fc","call_id":"x"}`, "call x"},
		{`{"call_id":"x","type":"custom_tool_call"}`, "call x"},
		{`{"type":"function_call_output","call_id":"x","output":"7"}`, "result x"},
		{`{"content":[{"type":"text","text":"so"},{"id":"x","type":"tool_use"}]}`, "call x"},
		{`{"content":[{"type":"server_tool_use","id":"x"},{"type":"t","tool_use_id":"x","content":[]}]}`,
			"call x, result x"},
		{`{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{"id":"no"},"id":"x"}]}}`, "call x"},
		{`{"data":{"content":5,"additional_kwargs":{"other":[1],"tool_calls":[{"id":"x"}]}}}`, "call x"},
		{`{"data":{"tool_call_id":"x"}}`, "result x"},
		{`{"data":{"data":{"tool_call_id":"x"}}}`, ""},

		{" {\t\"tool_call_id\" :\n\"x\"\r, \"a\" : 1 } ", "result x"},
		{`{"a":[1,{"b":"}]\"\\"},[]],"c":-1.5e3,"d":null,"tool_call_id":"x"}`, "result x"},
		{`{"tool_call_id":"\"\\"}`, `result \"\\`},
		{`{"tool_calls":[1,"a",null,[{"id":"no"}],{"id":7},{},{"id":"x"}],"content":[]}`, "call x"},
		{`{"tool_call_id":"x","tool_call_id":"y"}`, "result x, result y"},
		{`{"type":"tool_use","type":7,"id":"x"}`, ""},
		{`{"Tool_Call_ID":"x","tool_call_i\u0064":"y"}`, ""},
		{`{"tool_call_id":"","tool_calls":{"id":"x"}}`, ""},

		{``, ""}, {`tool_calls`, ""}, {`"tool_use"`, ""}, {`[{"tool_call_id":"x"}]`, ""}, {`{"tool_call_id":7}`, ""},
		{`{"content":"no tool_use here","id":"x"}`, ""}, {`{"type":"message","id":"x","content":["tool_use"]}`, ""},
		{"\xfftool_use", ""}, {`{"tool_calls":`, ""}, {`{"tool_calls":[`, ""}, {`{"tool_call_id":"x`, ""},
		{`{"tool_call_id":"x"`, "result x"}, {`{"tool_call_id":"x";"type":"tool_use","id":"y"}`, "result x"},
		{`{"a":,"tool_call_id":"x"}`, ""}, {`{"a":[1,2},"tool_call_id":"x"}`, "result x"},
	} {
		if got := found(c.data); got != c.want {
			t.Errorf("%s has %q, want %q", c.data, got, c.want)
		}
	}
}

// The scan takes no more memory for large and deep payloads.
func TestScanInConstantMemory(t *testing.T) {
	many := `{"tool_calls":[{"id":"q"}],"content":[` + strings.Repeat("0,", 1<<18) + `0]}`
	deep := `{"tool_use":` + strings.Repeat("[", 1<<18)
	for _, data := range []string{many, deep, many + deep} {
		b, n := []byte(data), 0
		if got := testing.AllocsPerRun(1, func() { scan(b, func([]byte, bool) { n++ }) }); got > 1 {
			t.Errorf("%.20s… takes %v allocations", data, got)
		}
	}
}

func TestIDs(t *testing.T) {
	a, c := hash([]byte("a")), hash([]byte("c"))
	got := Of([]byte(`{"tool_calls":[{"id":"a"},{"id":"b"},{"id":"a"}],"content":[{"tool_use_id":"b"},` +
		`{"tool_use_id":"c"}]}`))
	if fmt.Sprint(got) != fmt.Sprint(IDs{Calls: []uint64{a}, Results: []uint64{c}}) {
		t.Errorf("%+v", got)
	}
	if none := Of([]byte("tool_call")); !none.None() {
		t.Errorf("%+v", none)
	}
	var many bytes.Buffer
	for i := range MaxIDs + 1 {
		fmt.Fprintf(&many, `{"id":"%d"},`, i)
	}
	got = Of([]byte(`{"tool_calls":[` + many.String() + `{}]}`))
	if len(got.Calls) != MaxIDs || !got.More {
		t.Errorf("%d ids, more: %v", len(got.Calls), got.More)
	}
}

// Of well-formed JSON the scan sees what encoding/json sees, up to escape sequences; of anything else it comes to
// an end.
func FuzzScan(f *testing.F) {
	f.Add(`{"tool_calls":[{"id":"x"}],"data":{"tool_call_id":"y"}}`)
	f.Add(`{"content":[{"type":"tool_use","id":"x"},{"tool_use_id":"y"}]}`)
	f.Fuzz(func(t *testing.T, data string) {
		got := found(data)
		var m map[string]json.RawMessage
		if strings.ContainsAny(data, `\`) || json.Unmarshal([]byte(data), &m) != nil {
			return
		}
		var id string
		if raw, ok := m["tool_call_id"]; ok && json.Unmarshal(raw, &id) == nil && id != "" &&
			json.Valid([]byte(data)) && !strings.ContainsRune(id, '\ufffd') && !strings.Contains(got, "result "+id) {
			t.Errorf("%q has %q, and not the result %q", data, got, id)
		}
	})
}
