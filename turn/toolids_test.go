package turn

import "testing"

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

func TestToolIDsOfEachForm(t *testing.T) {
	for name, form := range toolForms {
		calls, results := toolIDs([]byte(form.call("x")))
		if _, ok := calls["x"]; !ok || len(calls) != 1 || len(results) != 0 {
			t.Errorf("%s: the call has calls %v, results %v", name, calls, results)
		}
		calls, results = toolIDs([]byte(form.result("x")))
		if _, ok := results["x"]; !ok || len(calls) != 0 || len(results) != 1 {
			t.Errorf("%s: the result has calls %v, results %v", name, calls, results)
		}
	}
	for _, none := range []string{
		``, `tool_calls`, `{"tool_calls":`, `"tool_use"`, `[{"tool_call_id":"x"}]`, `{"tool_call_id":7}`,
		`{"content":"no tool_use here","id":"x"}`, `{"type":"message","id":"x","content":["tool_use"]}`, "\xfftool_use",
	} {
		if calls, results := toolIDs([]byte(none)); len(calls)+len(results) != 0 {
			t.Errorf("%q: calls %v, results %v; want none", none, calls, results)
		}
	}
}
