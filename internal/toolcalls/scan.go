// Package toolcalls finds which tools a message calls, and of which calls it holds the results.
//
// It knows the forms of the OpenAI chat and Responses interfaces, Anthropic's content blocks and LangChain's
// serialised messages; a payload in any other form has neither. Entries of the log depend on what it finds:
// another form, or another reading of any payload, needs a cluster level. So it reads JSON by itself, in one
// pass, in constant memory, by rules that no release of Go changes:
//
//   - Names and ids are compared as they are written: an escape sequence is not resolved.
//   - What is not of the type that a form has there is passed over. So is all that it does not look for, and
//     that need only have its quotes and brackets in pairs.
//   - Where a payload is no JSON any more, it ends.
package toolcalls

import "bytes"

// MaxIDs is how many ids of calls in one message count, and how many ids of results.
const MaxIDs = 128

var marks = [][]byte{[]byte("tool_call"), []byte("tool_use"), []byte("call_id")}

// Mentioned reports whether a payload may have ids at all: it spares the ordinary message from being scanned.
func Mentioned(data []byte) bool {
	for _, mark := range marks {
		if bytes.Contains(data, mark) {
			return true
		}
	}
	return false
}

// scan calls found with each id of a call, or else of a result, that a payload has, in the order of their
// ends, with repetitions. The ids are parts of data.
func scan(data []byte, found func(id []byte, result bool)) {
	s := scanner{reader: reader{b: data}, found: found}
	s.item(true)
}

type scanner struct {
	reader
	found func(id []byte, result bool)
}

// item scans what the recognised forms have, each some of it. LangChain has the message proper as data.
func (s *scanner) item(wraps bool) {
	var b block
	s.members(func(name []byte) {
		switch string(name) {
		case "tool_call_id": // chat: the result of that call
			if id, ok := s.text(); ok {
				s.report(id, true)
			}
		case "tool_calls": // chat
			s.toolCalls()
		case "additional_kwargs": // LangChain, from providers of the chat form
			s.members(func(name []byte) {
				if string(name) == "tool_calls" {
					s.toolCalls()
				}
			})
		case "content": // Anthropic
			s.objects(func() {
				var b block
				s.members(func(name []byte) { s.blockMember(&b, name) })
				s.reportBlock(&b)
			})
		case "data":
			if wraps {
				s.item(false)
			}
		default:
			s.blockMember(&b, name)
		}
	})
	s.reportBlock(&b)
}

func (s *scanner) toolCalls() {
	s.objects(func() {
		s.members(func(name []byte) {
			if string(name) == "id" {
				if id, ok := s.text(); ok {
					s.report(id, false)
				}
			}
		})
	})
}

// block is a content block of Anthropic's or an item of the Responses interface.
type block struct{ typ, id, toolUseID, callID []byte }

func (s *scanner) blockMember(b *block, name []byte) {
	switch string(name) {
	case "type":
		b.typ, _ = s.text()
	case "id":
		b.id, _ = s.text()
	case "tool_use_id":
		b.toolUseID, _ = s.text()
	case "call_id":
		b.callID, _ = s.text()
	}
}

// reportBlock goes by the ends of type names: there are tool_use and server_tool_use, function_call and
// custom_tool_call, each with a result.
func (s *scanner) reportBlock(b *block) {
	switch {
	case bytes.HasSuffix(b.typ, []byte("tool_use")):
		s.report(b.id, false)
	case bytes.HasSuffix(b.typ, []byte("_call")):
		s.report(b.callID, false)
	case bytes.HasSuffix(b.typ, []byte("_call_output")):
		s.report(b.callID, true)
	}
	s.report(b.toolUseID, true)
}

func (s *scanner) report(id []byte, result bool) {
	if len(id) > 0 {
		s.found(id, result)
	}
}
