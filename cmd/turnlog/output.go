package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/turnlog/turnlog/turn"
)

// writeJSON writes v as one line.
func (a *app) writeJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table writes rows, the first being the header, with aligned columns.
func (a *app) table(rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

// isTerminal reports whether a person reads (or writes) stream.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// when shows a time of the cluster's clock.
func when(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000")
}

// printable shows text on one line of a terminal: what could steer the terminal,
// or is no text, is escaped.
func printable(b []byte) string {
	if !utf8.Valid(b) {
		return strconv.Quote(string(b))
	}
	var out strings.Builder
	for _, r := range string(b) {
		if strconv.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return out.String()
}

// outcomeJSON is what a write says to programs.
type outcomeJSON struct {
	First     uint64  `json:"first_seq,omitempty"`
	Last      uint64  `json:"last_seq,omitempty"`
	Revision  uint64  `json:"revision"`
	Count     *uint64 `json:"count,omitempty"`
	Removed   *uint64 `json:"removed,omitempty"`
	Duplicate *bool   `json:"duplicate,omitempty"`
}

// writeMessages writes messages as lines, of JSON or for people.
func (a *app) writeMessages(w io.Writer, ms []turn.Message) error {
	for i := range ms {
		m := &ms[i]
		var err error
		if a.json {
			_, err = w.Write(append(appendMessage(nil, m), '\n'))
		} else {
			_, err = fmt.Fprintf(w, "%6d  %s  %s\n", m.Seq, when(m.Time), printable(m.Data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
