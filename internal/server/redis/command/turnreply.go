package command

import (
	"maps"
	"slices"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// fields writes a map of names and numbers: name, number, name, number …
func fields(w *resp.Writer, pairs ...any) {
	w.Map(len(pairs) / 2)
	writePairs(w, pairs...)
}

// writePairs writes the pairs of a map that was begun.
func writePairs(w *resp.Writer, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		w.BulkString(pairs[i].(string))
		switch v := pairs[i+1].(type) {
		case uint64:
			w.Int(int64(v))
		case int64:
			w.Int(v)
		case bool:
			n := int64(0)
			if v {
				n = 1
			}
			w.Int(n)
		case string:
			w.BulkString(v)
		}
	}
}

func removal(w *resp.Writer, r turn.Result) { fields(w, "removed", r.Removed, "revision", r.Revision) }

func writeMeta(w *resp.Writer, meta map[string]string) {
	w.Map(len(meta))
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		w.BulkString(k)
		w.BulkString(meta[k])
	}
}

// WriteMessages writes an array of [seq, time, id, payload].
func WriteMessages(w *resp.Writer, ms []turn.Message) {
	w.Array(len(ms))
	for i := range ms {
		m := &ms[i]
		w.Array(4)
		w.Int(int64(m.Seq))
		w.Int(m.Time)
		w.BulkString(m.ID)
		w.Bulk(m.Data)
	}
}
