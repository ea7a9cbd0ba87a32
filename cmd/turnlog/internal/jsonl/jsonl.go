// Package jsonl reads and writes sessions as lines of JSON, the format of import and export.
//
// A session that was written and is read again is the same: keys, ids and metadata that are not UTF-8, and payloads
// that are not JSON, are written in base64. The package has no state; its functions may be called by any goroutine.
package jsonl

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/turnlog/turnlog/turn"
)

// The line format of import and export: one session a line,
//
//	{"session":KEY,"metadata":{…},"retain_messages":N,"messages":[…]}
//
// "metadata" only where there is some, and "retain_messages" or "retain_turns" where the session keeps so many by
// itself. A key that is not UTF-8 is written as
// "session_base64", an id as "id_base64", metadata as "metadata_base64" with names and
// values in base64. Export writes a message as {"seq","time","id","data"|"data_base64"}:
// "data" is the payload itself, byte for byte, if it is JSON that fits in a
// line; any other payload is "data_base64". Import also takes a plain object,
// such as a chat message, which is stored whole, again byte for byte, with its
// own "id" as the message id.

// Line is one parsed line.
type Line struct {
	Session  string
	Meta     map[string]string
	Keep     turn.Retention
	Messages []turn.NewMessage
}

// ParseLine parses text, which may end in a newline. Its memory is not kept.
func ParseLine(text []byte) (Line, error) {
	var raw struct {
		Session        *string           `json:"session"`
		SessionBase64  []byte            `json:"session_base64"`
		Metadata       map[string]string `json:"metadata"`
		MetadataBase64 map[string][]byte `json:"metadata_base64"`
		RetainMessages uint64            `json:"retain_messages"`
		RetainTurns    uint64            `json:"retain_turns"`
		Messages       []json.RawMessage `json:"messages"`
	}
	if err := unmarshalStrict(text, &raw); err != nil {
		return Line{}, err
	}
	l := Line{Session: string(raw.SessionBase64), Meta: raw.Metadata,
		Keep: turn.Retention{Messages: raw.RetainMessages, Turns: raw.RetainTurns}}
	switch {
	case raw.Session != nil && raw.SessionBase64 != nil:
		return Line{}, errors.New("both session and session_base64 are given")
	case raw.Session != nil:
		l.Session = *raw.Session
	}
	if l.Session == "" {
		return Line{}, errors.New(`no "session"`)
	}
	if raw.Messages == nil {
		return Line{}, errors.New(`no "messages"`)
	}
	if err := l.addMeta(raw.MetadataBase64); err != nil {
		return Line{}, err
	}
	l.Messages = make([]turn.NewMessage, len(raw.Messages))
	for i, m := range raw.Messages {
		var err error
		if l.Messages[i], err = parseMessage(m); err != nil {
			return Line{}, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return l, nil
}

func (l *Line) addMeta(encoded map[string][]byte) error {
	for k, v := range encoded {
		name, err := base64.StdEncoding.DecodeString(k)
		if err != nil {
			return fmt.Errorf("metadata_base64: the name %q is not base64", k)
		}
		if l.Meta == nil {
			l.Meta = map[string]string{}
		}
		l.Meta[string(name)] = string(v)
	}
	return nil
}

// parseMessage tells the two forms of a message apart: one that has data or
// data_base64, and nothing besides but what export writes, is the wrapped form.
func parseMessage(raw json.RawMessage) (turn.NewMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return turn.NewMessage{}, errors.New("is not an object")
	}
	var m turn.NewMessage
	if id, ok := fields["id"]; ok && string(id) != "null" {
		if err := json.Unmarshal(id, &m.ID); err != nil {
			return m, errors.New(`"id" is not a string`)
		}
	}
	if !isWrapped(fields) {
		m.Data = bytes.Clone(raw)
		return m, nil
	}
	if encoded, ok := fields["id_base64"]; ok {
		id, err := decodeBase64(encoded)
		if err != nil || m.ID != "" {
			return m, errors.New(`"id_base64" is not a base64 string, or there is an "id" as well`)
		}
		m.ID = string(id)
	}
	data, encoded := fields["data"], fields["data_base64"]
	switch {
	case data != nil && encoded != nil:
		return m, errors.New("both data and data_base64 are given")
	case data != nil:
		m.Data = bytes.Clone(data)
	default:
		var err error
		if m.Data, err = decodeBase64(encoded); err != nil {
			return m, errors.New(`"data_base64" is not a base64 string`)
		}
	}
	return m, nil
}

func decodeBase64(raw json.RawMessage) ([]byte, error) {
	b := []byte{}
	if raw[0] != '"' { // Unmarshal would take an array of numbers, too
		return nil, errors.New("is not a string")
	}
	err := json.Unmarshal(raw, &b)
	return b, err
}

func isWrapped(fields map[string]json.RawMessage) bool {
	known := 0
	for _, name := range []string{"seq", "time", "id", "id_base64", "data", "data_base64"} {
		if _, ok := fields[name]; ok {
			known++
		}
	}
	return known == len(fields) && (fields["data"] != nil || fields["data_base64"] != nil)
}

// unmarshalStrict decodes exactly one JSON value without unknown fields.
func unmarshalStrict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return errors.New("more than one JSON value")
	}
	return nil
}

// AppendMessage appends m as export writes it.
func AppendMessage(dst []byte, m *turn.Message) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), m.Seq, 10)
	dst = strconv.AppendInt(append(dst, `,"time":`...), m.Time, 10)
	if m.ID != "" {
		dst = AppendText(append(dst, ','), "id", m.ID)
	}
	return append(AppendPayload(append(dst, ','), m.Data), '}')
}

// AppendPayload appends a payload as "data" or "data_base64".
func AppendPayload(dst, data []byte) []byte {
	if standsInLine(data) {
		return append(append(dst, `"data":`...), data...)
	}
	return appendBase64(dst, "data", data)
}

// deepest is how deep a payload may nest to be in a line, within what a JSON
// decoder takes.
const deepest = 9000

// standsInLine reports whether data can be written into a line of JSON and be
// found there again, byte for byte.
func standsInLine(data []byte) bool {
	return !bytes.ContainsAny(data, "\r\n") && len(bytes.TrimSpace(data)) == len(data) &&
		bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) < deepest &&
		utf8.Valid(data) && json.Valid(data)
}

// AppendLineStart appends a line up to its first message.
func AppendLineStart(dst []byte, key string, meta map[string]string, keep turn.Retention) []byte {
	dst = AppendText(append(dst, '{'), "session", key)
	if len(meta) > 0 {
		dst = appendMeta(append(dst, ','), meta)
	}
	if keep.Messages > 0 {
		dst = strconv.AppendUint(append(dst, `,"retain_messages":`...), keep.Messages, 10)
	}
	if keep.Turns > 0 {
		dst = strconv.AppendUint(append(dst, `,"retain_turns":`...), keep.Turns, 10)
	}
	return append(dst, `,"messages":[`...)
}

func appendMeta(dst []byte, meta map[string]string) []byte {
	name, values := "metadata", any(meta)
	if !allText(meta) {
		encoded := map[string][]byte{} // as encoding/json writes it, in base64
		for k, v := range meta {
			encoded[base64.StdEncoding.EncodeToString([]byte(k))] = []byte(v)
		}
		name, values = "metadata_base64", encoded
	}
	text, _ := json.Marshal(values) // such maps always marshal
	dst = append(append(append(dst, '"'), name...), `":`...)
	return append(dst, text...)
}

func allText(meta map[string]string) bool {
	for k, v := range meta {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return false
		}
	}
	return true
}

// AppendText appends "name":"s", or "name_base64" if s is not UTF-8.
func AppendText(dst []byte, name, s string) []byte {
	if !utf8.ValidString(s) {
		return appendBase64(dst, name, []byte(s))
	}
	dst = append(append(append(dst, '"'), name...), `":`...)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string always encodes
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}

func appendBase64(dst []byte, name string, b []byte) []byte {
	dst = append(append(append(dst, '"'), name...), `_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}
