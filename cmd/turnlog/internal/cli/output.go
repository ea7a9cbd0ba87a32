package cli

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

	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

// WriteJSON writes v as one line.
func (a *App) WriteJSON(v any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Table writes rows, the first being the header, with aligned columns.
func (a *App) Table(rows [][]string) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

// IsTerminal reports whether a person reads (or writes) stream.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// When shows a time of the cluster's clock.
func When(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000")
}

// Printable shows text on one line of a terminal: what could steer the terminal,
// or is no text, is escaped.
func Printable(b []byte) string {
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

// Written is what a write says to programs.
type Written struct {
	Seq       uint64  `json:"seq,omitempty"`
	First     uint64  `json:"first_seq,omitempty"`
	Last      uint64  `json:"last_seq,omitempty"`
	Revision  uint64  `json:"revision"`
	Count     *uint64 `json:"count,omitempty"`
	Removed   *uint64 `json:"removed,omitempty"`
	Duplicate *bool   `json:"duplicate,omitempty"`
}

// WriteMessages writes messages as lines, of JSON or for people.
func (a *App) WriteMessages(w io.Writer, ms []turn.Message) error {
	for i := range ms {
		m := &ms[i]
		var err error
		if a.JSON {
			_, err = w.Write(append(jsonl.AppendMessage(nil, m), '\n'))
		} else {
			_, err = fmt.Fprintf(w, "%6d  %s  %s\n", m.Seq, When(m.Time), Printable(m.Data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Plural returns "1 noun" or "n nouns".
func Plural[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Were returns "1 noun was" or "n nouns were".
func Were[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return Plural(n, noun) + " was"
	}
	return Plural(n, noun) + " were"
}

// OrDash shows that there is nothing in a column.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
