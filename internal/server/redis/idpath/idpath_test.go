package idpath

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestIDAt(t *testing.T) {
	paths := Paths{"0": {{"data", "id"}, {"id"}}}
	for payload, want := range map[string]string{
		`{"type":"ai","data":{"id":"run-1","content":"x"}}`: "run-1",
		`{"data":{"id":null},"id":"outer"}`:                 "outer",
		`{"id":"only"}`:                                     "only",
		` {"id" : "spaced"}`:                                "spaced",
		`{"id":7}`:                                          "",
		`{"id":""}`:                                         "",
		`{"id":"0123456789012345678901234567890123456789012345678901234567890123"}`:  "0123456789012345678901234567890123456789012345678901234567890123",
		`{"id":"01234567890123456789012345678901234567890123456789012345678901234"}`: "",
		`{"id":"\u00e9"}`:      "é",
		`["id"]`:               "",
		`"id"`:                 "",
		`{"id":"broken"`:       "",
		``:                     "",
		`not JSON`:             "",
		`{"data":"id"}`:        "",
		`{"data":{"data":{}}}`: "",
	} {
		ms := []turn.NewMessage{{Data: []byte(payload)}}
		if found := paths.Identify("0", ms); ms[0].ID != want || found != (want != "") {
			t.Errorf("%s: %q", payload, ms[0].ID)
		}
		if paths.Identify("1", ms[:]); paths["1"] != nil {
			t.Error("a namespace has paths")
		}
	}
}
