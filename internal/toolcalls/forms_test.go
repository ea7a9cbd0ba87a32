package toolcalls

import (
	"slices"
	"testing"
)

// The payloads of the recognised forms that call a tool and hold its result.
var toolForms = map[string]struct {
	call, result func(id string) string
}{
	"chat": {
		func(id string) string {
			return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function"}]}`
		},
		func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"7"}` },
	},
	"responses": {
		func(id string) string {
			return `{"type":"function_call","id":"fc_1","call_id":"` + id + `","name":"f"}`
		},
		func(id string) string { return `{"type":"function_call_output","call_id":"` + id + `","output":"7"}` },
	},
	"anthropic": {
		func(id string) string {
			return `{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"` + id + `"}]}`
		},
		func(id string) string {
			return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":[]}]}`
		},
	},
	"langchain": {
		func(id string) string {
			return `{"type":"ai","data":{"content":"","tool_calls":[{"name":"f","args":{},"id":"` + id + `"}]}}`
		},
		func(id string) string { return `{"type":"tool","data":{"content":"7","tool_call_id":"` + id + `"}}` },
	},
	"langchain kwargs": {
		func(id string) string {
			return `{"type":"ai","data":{"content":5,"additional_kwargs":{"tool_calls":[{"id":"` + id + `"}]}}}`
		},
		func(id string) string { return `{"type":"tool","data":{"tool_call_id":"` + id + `"}}` },
	},
}

func TestIDsOfEachForm(t *testing.T) {
	x := []uint64{hash([]byte("x"))}
	for name, form := range toolForms {
		if got := Of([]byte(form.call("x"))); !slices.Equal(got.Calls, x) || len(got.Results) != 0 {
			t.Errorf("%s: the call has %+v", name, got)
		}
		if got := Of([]byte(form.result("x"))); !slices.Equal(got.Results, x) || len(got.Calls) != 0 {
			t.Errorf("%s: the result has %+v", name, got)
		}
	}
}
