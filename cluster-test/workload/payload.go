package workload

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// A payload is a JSON object that carries a token, which is unique in a run,
// and padding that follows from the token: any damage to it shows.

const (
	payloadStart = `{"v":"`
	payloadPad   = `","pad":"`
	payloadEnd   = `}`

	// sized is, in a token, before the size of its payload in KiB.
	sized = "~"
)

// payload returns the message that carries token. Most are as short as a chat
// message, some longer, few are long.
func payload(token string) []byte {
	h := fnv.New32a()
	h.Write([]byte(token))
	sum := h.Sum32()
	pad := int(sum % 200)
	switch {
	case sum%211 == 0:
		pad = 20_000
	case sum%7 == 0: // longer than a sector of a disk
		pad = int(sum>>8) % 4000
	}
	if _, size, ok := strings.Cut(token, sized); ok {
		kib, _ := strconv.Atoi(size)
		pad = max(0, kib<<10-len(payloadStart+token+payloadPad+`"`+payloadEnd))
	}
	unit := fmt.Sprintf("%08x ", sum)
	text := strings.Repeat(unit, pad/len(unit)+1)[:pad]
	return []byte(payloadStart + token + payloadPad + text + `"` + tool(token) + payloadEnd)
}

// tool returns the part of a payload that makes it a tool call, or the result of one, as its token says.
func tool(token string) string {
	if id, ok := strings.CutSuffix(token, history.ToolCall); ok {
		return `,"role":"assistant","tool_calls":[{"id":"` + id + `","type":"function",` +
			`"function":{"name":"f","arguments":"{}"}}]`
	}
	if id, ok := strings.CutSuffix(token, history.ToolResult); ok {
		return `,"role":"tool","tool_call_id":"` + id + `"`
	}
	return ""
}

// token returns what data carries; data that is not exactly one of our
// payloads comes back as a description, which no history knows.
func token(data []byte) string {
	rest, ok := bytes.CutPrefix(data, []byte(payloadStart))
	name, _, found := bytes.Cut(rest, []byte(payloadPad))
	if ok && found && bytes.Equal(data, payload(string(name))) {
		return string(name)
	}
	return fmt.Sprintf("damaged payload of %d bytes: %.60q", len(data), data)
}
