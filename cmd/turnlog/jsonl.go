package main

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
//	{"session":KEY,"meta":{…},"messages":[…]}
//
// A key that is not UTF-8 stands as "session_base64", "meta" only where there is
// some. Export writes a message as {"seq","time","id","data"|"data_base64"}:
// "data" is the payload itself, byte for byte, if it is JSON that can stand in a
// line; any other payload is "data_base64". Import also takes a plain object,
// such as a chat message, which is stored whole, again byte for byte, with its
// own "id" as the message id.

// line is one parsed line.
type line struct {
	session  string
	meta     map[string]string
	messages []turn.NewMessage
}

// parseLine parses text, which may end in a newline. Its memory is not kept.
func parseLine(text []byte) (line, error) {
	var raw struct {
		Session       *string           `json:"session"`
		SessionBase64 []byte            `json:"session_base64"`
		Meta          map[string]string `json:"meta"`
		Messages      []json.RawMessage `json:"messages"`
	}
	if err := unmarshalStrict(text, &raw); err != nil {
		return line{}, err
	}
	l := line{session: string(raw.SessionBase64), meta: raw.Meta}
	switch {
	case raw.Session != nil && raw.SessionBase64 != nil:
		return line{}, errors.New("both session and session_base64 are given")
	case raw.Session != nil:
		l.session = *raw.Session
	}
	if l.session == "" {
		return line{}, errors.New(`no "session"`)
	}
	if raw.Messages == nil {
		return line{}, errors.New(`no "messages"`)
	}
	l.messages = make([]turn.NewMessage, len(raw.Messages))
	for i, m := range raw.Messages {
		var err error
		if l.messages[i], err = parseMessage(m); err != nil {
			return line{}, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return l, nil
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
	data, encoded := fields["data"], fields["data_base64"]
	switch {
	case data != nil && encoded != nil:
		return m, errors.New("both data and data_base64 are given")
	case data != nil:
		m.Data = bytes.Clone(data)
	default:
		if err := json.Unmarshal(encoded, &m.Data); err != nil {
			return m, errors.New(`"data_base64" is not a base64 string`)
		}
	}
	return m, nil
}

func isWrapped(fields map[string]json.RawMessage) bool {
	known := 0
	for _, name := range []string{"seq", "time", "id", "data", "data_base64"} {
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

// appendMessage appends m as export writes it.
func appendMessage(dst []byte, m *turn.Message) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), m.Seq, 10)
	dst = strconv.AppendInt(append(dst, `,"time":`...), m.Time, 10)
	if m.ID != "" {
		dst = appendString(append(dst, `,"id":`...), m.ID)
	}
	return append(appendPayload(append(dst, ','), m.Data), '}')
}

func appendPayload(dst, data []byte) []byte {
	if standsInLine(data) {
		return append(append(dst, `"data":`...), data...)
	}
	dst = append(dst, `"data_base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, data), '"')
}

// standsInLine reports whether data can be written into a line of JSON and be
// found there again, byte for byte.
func standsInLine(data []byte) bool {
	return !bytes.ContainsAny(data, "\r\n") && len(bytes.TrimSpace(data)) == len(data) &&
		utf8.Valid(data) && json.Valid(data)
}

// appendLineStart appends a line up to its first message.
func appendLineStart(dst []byte, key string, meta map[string]string) []byte {
	if utf8.ValidString(key) {
		dst = appendString(append(dst, `{"session":`...), key)
	} else {
		dst = append(dst, `{"session_base64":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, []byte(key)), '"')
	}
	if len(meta) > 0 {
		text, _ := json.Marshal(meta) // strings always marshal
		dst = append(append(dst, `,"meta":`...), text...)
	}
	return append(dst, `,"messages":[`...)
}

// appendString appends s as JSON. An id that is not UTF-8 cannot come back as it
// was; ids are made by programs, and are text.
func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string always encodes
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}
