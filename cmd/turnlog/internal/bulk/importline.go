package bulk

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

// How an import reads lines, and what it makes of them.

func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == io.EOF && len(text) > 0, err == nil:
			return text, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(text) > maxLineBytes:
			return nil, cli.Usagef("is longer than %d MiB: split the session into several lines", maxLineBytes>>20)
		}
	}
}

// parse reads a line and checks it whole, so that a bad one leaves no trace.
func (im *importer) parse(number int, text []byte) (jsonl.Line, error) {
	l, err := jsonl.ParseLine(text)
	if err != nil {
		return l, err
	}
	seen := make(map[string]bool, len(l.Messages))
	for i := range l.Messages {
		m := &l.Messages[i]
		if m.ID == "" {
			m.ID = derivedID(number, i, l.Session, m.Data)
		}
		if seen[m.ID] {
			return l, fmt.Errorf("message %d: id %q appears twice in the line", i+1, m.ID)
		}
		seen[m.ID] = true
	}
	if l.Keep != (turn.Retention{}) {
		op := &turn.Retain{Key: turn.Key{Namespace: turn.DefaultNamespace, Name: l.Session}, Keep: l.Keep}
		if err := op.Validate(im.limits); err != nil {
			return l, err
		}
	}
	for b := range batches(l.Messages) {
		op := &turn.Append{Key: turn.Key{Namespace: turn.DefaultNamespace, Name: l.Session}, Messages: b}
		if err := op.Validate(im.limits); err != nil {
			return l, err
		}
	}
	return l, nil
}

// derivedID makes the id of a message that has none, the same for the same file.
func derivedID(number, i int, session string, data []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d %s", number, i, len(session), session)
	h.Write(data)
	return "import-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// batches cuts messages into appends.
func batches(ms []turn.NewMessage) iter.Seq[[]turn.NewMessage] {
	return func(yield func([]turn.NewMessage) bool) {
		for start := 0; start < len(ms); {
			end, size := start, 0
			for end < len(ms) && end-start < batchCount && (end == start || size+len(ms[end].Data) <= batchBytes) {
				size += len(ms[end].Data)
				end++
			}
			if !yield(ms[start:end]) {
				return
			}
			start = end
		}
	}
}
