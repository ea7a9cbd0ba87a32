package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// plot is a picture of throughput and latency against faults.
type plot struct {
	h     *history.History
	width float64
	end   float64 // seconds
	out   strings.Builder
}

const (
	plotWidth  = 1100.0
	plotLeft   = 60.0
	plotTop    = 20.0
	panel      = 150.0 // height of one of the panels
	panelGap   = 40.0
	laneHeight = 13.0
	bucket     = 0.25 // seconds
	maxBuckets = 4000
)

// bin is what happened in one stretch of time.
type bin struct {
	writes, reads int
	latencies     []int64 // of writes
}

// draw returns the picture as SVG.
func draw(h *history.History) template.HTML {
	p := &plot{h: h, width: plotWidth - plotLeft - 20, end: math.Max(1, float64(h.End)/1e9)}
	step := math.Max(bucket, p.end/maxBuckets)
	bins := p.bins(step)
	lanes := h.Faults()
	tops := [3]float64{plotTop, plotTop + panel + panelGap, plotTop + 2*(panel+panelGap)}
	height := tops[2] + laneHeight*float64(len(lanes)+1) + 30

	fmt.Fprintf(&p.out, `<svg viewBox="0 0 %g %g" role="img" `+
		`aria-label="throughput and latency over time, with faults">`, plotWidth, height)
	p.shades(lanes, tops[0], tops[2])
	p.leaders(tops[0], tops[2])
	p.throughput(bins, step, tops[0])
	p.latency(bins, step, tops[1])
	p.lanes(lanes, tops[2])
	p.seconds(height - 12)
	p.out.WriteString(`</svg>`)
	return template.HTML(p.out.String()) // numbers and escaped text only
}

func (p *plot) x(ns int64) float64 { return plotLeft + p.width*float64(ns)/1e9/p.end }

func (p *plot) bins(step float64) []bin {
	bins := make([]bin, int(p.end/step)+1)
	for i := range p.h.Operations {
		op := &p.h.Operations[i]
		if op.Outcome != history.OK || op.Call.Final {
			continue
		}
		b := &bins[int(float64(op.Return)/1e9/step)]
		if op.Call.Func.Writes() {
			b.writes++
			b.latencies = append(b.latencies, op.Return-op.Invoke)
		} else {
			b.reads++
		}
	}
	return bins
}

func (p *plot) shades(lanes []history.FaultTime, top, bottom float64) {
	for _, f := range lanes {
		fmt.Fprintf(&p.out, `<rect class="shade" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`,
			p.x(f.Begin), top, math.Max(1, p.x(f.End)-p.x(f.Begin)), bottom-top)
	}
}

func (p *plot) leaders(top, bottom float64) {
	for _, m := range p.h.Marks {
		if m.Type == history.Note && strings.HasPrefix(m.Text, LeaderNote) {
			fmt.Fprintf(&p.out, `<line class="leader" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"><title>%s</title></line>`,
				p.x(m.Time), p.x(m.Time), top, bottom, template.HTMLEscapeString(m.Text))
			fmt.Fprintf(&p.out, `<text class="small" x="%.1f" y="%.1f">%s</text>`, p.x(m.Time)+2, bottom-3,
				template.HTMLEscapeString(m.Node))
		}
	}
}

func (p *plot) throughput(bins []bin, step, top float64) {
	most := 1.0
	for _, b := range bins {
		most = math.Max(most, float64(max(b.writes, b.reads))/step)
	}
	y := func(perSecond float64) float64 { return top + panel - panel*perSecond/most }
	p.axis(top, fmt.Sprintf("%.0f/s", most), "calls a second: writes, reads")
	p.line("reads", bins, step, func(b *bin) float64 { return y(float64(b.reads) / step) })
	p.line("writes", bins, step, func(b *bin) float64 { return y(float64(b.writes) / step) })
}

// latency has a logarithmic axis, from 0.1 ms to 10 s.
func (p *plot) latency(bins []bin, step, top float64) {
	y := func(ns int64) float64 {
		decades := math.Log10(math.Max(float64(ns), 1e5) / 1e5)
		return top + panel - panel*math.Min(decades, 5)/5
	}
	p.axis(top, "10 s", "write latency: median, slowest (logarithmic, from 0.1 ms)")
	at := func(share float64) func(b *bin) float64 {
		return func(b *bin) float64 {
			l := latency(b.latencies)
			if l.Count == 0 {
				return math.NaN()
			}
			if share == 1 {
				return y(l.Max)
			}
			return y(l.Median)
		}
	}
	p.line("slowest", bins, step, at(1))
	p.line("writes", bins, step, at(0.5))
}

func (p *plot) axis(top float64, most, title string) {
	fmt.Fprintf(&p.out, `<rect class="frame" x="%g" y="%g" width="%g" height="%g"/>`, plotLeft, top, p.width, panel)
	fmt.Fprintf(&p.out, `<text x="%g" y="%g" text-anchor="end">%s</text>`, plotLeft-6, top+10, most)
	fmt.Fprintf(&p.out, `<text x="%g" y="%g">%s</text>`, plotLeft, top-6, title)
}

// line draws one value of each bin; NaN interrupts it.
func (p *plot) line(class string, bins []bin, step float64, y func(*bin) float64) {
	fmt.Fprintf(&p.out, `<path class="%s" d="`, class)
	pen := "M"
	for i := range bins {
		v := y(&bins[i])
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&p.out, "%s%.1f %.1f", pen, p.x(int64((float64(i)+0.5)*step*1e9)), v)
		pen = "L"
	}
	p.out.WriteString(`"/>`)
}

func (p *plot) lanes(list []history.FaultTime, top float64) {
	for i, f := range list {
		y := top + laneHeight*float64(i)
		fmt.Fprintf(&p.out, `<rect class="fault" x="%.1f" y="%.1f" width="%.1f" height="%g"/>`,
			p.x(f.Begin), y, math.Max(2, p.x(f.End)-p.x(f.Begin)), laneHeight-3)
		text, anchor := p.x(f.End)+4, "start"
		if text > plotWidth-200 {
			text, anchor = p.x(f.Begin)-4, "end"
		}
		fmt.Fprintf(&p.out, `<text class="small" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, text,
			y+laneHeight-4, anchor,
			template.HTMLEscapeString(fmt.Sprintf("%s %s", f.Name, f.Node)))
	}
}

func (p *plot) seconds(y float64) {
	step := math.Pow(10, math.Floor(math.Log10(p.end)))
	for step > p.end/6 {
		step /= 2
	}
	for s := 0.0; s <= p.end; s += step {
		fmt.Fprintf(&p.out, `<text x="%.1f" y="%g" text-anchor="middle">%g s</text>`, p.x(int64(s*1e9)), y, s)
	}
}
