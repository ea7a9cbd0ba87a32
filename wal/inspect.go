package wal

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// InspectOptions choose what Inspect writes.
type InspectOptions struct {
	Batches  bool                  // a line for each batch
	Records  bool                  // a line for each record; implies Batches
	From, To uint64                // only batches that overlap From…To; 0: no bound
	Describe func(r Record) string // what a record means, in a few words; nil: nothing
}

// Inspect writes a description of the log in dir, for people. It changes nothing and takes no lock; see
// Walk for what that means while a node runs. On an error, it first writes what it could read. Of opts,
// only FS is used.
func Inspect(dir string, opts Options, w io.Writer, show InspectOptions) error {
	out := &printer{w: w}
	report, err := Walk(dir, opts, func(b Batch) error {
		out.batch(b, show)
		return out.err
	})
	out.report(report)
	if err != nil {
		return err
	}
	return out.err
}

// printer remembers the first failed write.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) batch(b Batch, show InspectOptions) {
	if !show.Batches && !show.Records {
		return
	}
	end := b.Index + uint64(b.Count)
	if show.From > 0 && end <= show.From || show.To > 0 && b.Index > show.To {
		return
	}
	what := fmt.Sprintf("records %d…%d", b.Index, end-1)
	if b.Count == 0 {
		what = fmt.Sprintf("truncation: first %d, next %d", b.First, b.Index)
	}
	p.printf("segment %d offset %d: %s, %d bytes, epoch %d\n", b.Segment, b.Offset, what, b.Bytes, b.Epoch)
	if !show.Records {
		return
	}
	records, err := b.Records()
	if err != nil {
		p.err = err
		return
	}
	for _, r := range records {
		if r.Index < show.From || show.To > 0 && r.Index > show.To {
			continue
		}
		p.printf("  %d: meta %d bytes, data %d bytes", r.Index, len(r.Meta), len(r.Data))
		if show.Describe != nil {
			p.printf(": %s", show.Describe(r))
		}
		p.printf("\n")
	}
}

func (p *printer) report(r Report) {
	if r.LogID == 0 {
		return // not even the manifest could be read
	}
	p.printf("log %016x, epoch %d: ", r.LogID, r.Epoch)
	switch {
	case r.FirstIndex > 0:
		p.printf("records %d…%d\n", r.FirstIndex, r.LastIndex)
	case r.NextIndex > 0:
		p.printf("empty, next record %d\n", r.NextIndex)
	default:
		p.printf("empty\n")
	}
	if p.err != nil {
		return
	}
	table := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "segment\tstate\tsize\tused\trecords\tfirst\tlast\t\n")
	for _, s := range r.Segments {
		fmt.Fprintf(table, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t\n", s.ID, s.State, s.Size, s.Used, s.Live, s.FirstIndex,
			s.LastIndex)
	}
	p.err = table.Flush()
	if r.Torn != nil {
		p.printf("incomplete batch at the end, left by a crash or being written now: %s offset %d: %s\n", r.Torn.File,
			r.Torn.Offset, r.Torn.Reason)
	}
	for _, d := range r.DroppedDamage {
		p.printf("dropped records are damaged, which does no harm: %s offset %d: %s; whole again from %s offset "+
			"%d on\n",
			d.File, d.Offset, d.Reason, d.UntilFile, d.UntilOffset)
	}
	if r.ManifestDamage != "" {
		p.printf("one copy of the manifest is damaged: %s\n", r.ManifestDamage)
	}
}
