package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is all that a standard run says, or trials.
type Report struct {
	Date     time.Time   `json:"date"`
	Version  string      `json:"version"`
	Command  string      `json:"command"`
	Machine  Machine     `json:"machine"`
	Others   string      `json:"others,omitempty"` // versions of the stores that turnlog was compared with
	Rounds   int         `json:"rounds"`
	Config   Config      `json:"config"`
	Series   []*Series   `json:"series,omitempty"`
	Findings []*Findings `json:"findings,omitempty"`
	Profiles []*Profile  `json:"profiles,omitempty"`
	Verdicts []Verdict   `json:"verdicts"` // of all
}

// Markdown writes the report as a page.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	if len(r.Series) > 0 {
		fmt.Fprintf(&b, standardIntroduction, r.Config.Size, r.Config.Sessions, r.Config.Last, r.generator(), r.Rounds,
			r.Config.Duration, r.etcd())
	} else {
		fmt.Fprintf(&b, trialsIntroduction, r.Config.Clients, r.generator())
	}
	others := ""
	if r.Others != "" {
		others = fmt.Sprintf("| compared with | %s |\n", r.Others)
	}
	fmt.Fprintf(&b, `
| | |
|---|---|
| date | %s |
| version | %s |
%s| command | `+"`%s`"+` |
| processors | %s |
| memory | %s |
| system | %s, %s |
| load before the run | %s |
| sync of 4 KiB | %s at the end of a file, %s within a file that was written before |

`, r.Date.UTC().Format("2006-01-02 15:04 UTC"), r.Version, others, r.Command, r.Machine.Processors, r.Machine.Memory,
		r.Machine.System, r.Machine.Go, r.Machine.Load, micros(r.Machine.SyncGrow), micros(r.Machine.SyncReuse))
	r.goals(&b)
	if len(r.Series) > 0 {
		r.figures(&b)
	}
	for _, t := range r.Tables() {
		t.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const standardIntroduction = `# Results of the standard benchmark

Written by ` + "`make bench`" + `; do not edit. Three nodes of turnlog, every acknowledged append synced
on a majority, linearizable reads; beside them, on the same machine and disk, redis-server with ` +
	"`appendfsync always`" + ` alone and with two replicas that sync too (` + "`WAIT 1`" + `). One
connection per client, each with one request at a time; %d-byte messages over %d sessions; reads are of
the last %d messages; a chat turn is a read and an append of two messages; a tail's client appends over
one connection and follows the session over another, and its latency is that from append to arrival. The
generator of load, %s, shares the machine's processors. Figures are medians of %d rounds of %s; ratios
are medians of the ratios of the rounds.

%s
`

// etcd says how etcd was measured, and what its client takes of the processors,
// which it shares with the servers: it is no generator made for the purpose.
func (r *Report) etcd() string {
	var largest *Series
	for _, s := range r.Series {
		if s.Workload == "append" && s.Of(Etcd).Operations > 0 {
			largest = s
		}
	}
	if largest == nil {
		return "etcd was not measured; `make bench` measures it where it is installed."
	}
	return fmt.Sprintf(`Three nodes of etcd, with its defaults but for a larger quota, are driven through their
leader by its own Go client, in a process of its own: a goroutine and a gRPC connection for each client,
connected before the time begins. A message is put under a key of its own that the client makes up, so that
nothing is read before; keys fall with time, so that a linearizable read of a range's first keys has the last
messages. With %d clients this generator takes %.2f s of processor time per 10,000 appends, where the one of
turnlog's load takes %.2f s.`,
		largest.Clients, largest.Of(Etcd).Generator, largest.Of(ViaLeader).Generator)
}

const trialsIntroduction = `# Costs that must not grow with the data

Written by ` + "`make bench-growth`" + `; do not edit. Three nodes of turnlog on one machine, with the
generator of load beside them: %d clients, %s.
`

// generator says which generator of load was used.
func (r *Report) generator() string {
	if r.Config.Goroutines {
		return "a goroutine for each connection"
	}
	return "one thread for all connections"
}

func (r *Report) goals(b *strings.Builder) {
	b.WriteString("## Goals\n\n| goal | measured | |\n|---|---|---|\n")
	for _, v := range r.Verdicts {
		fmt.Fprintf(b, "| %s | %.2f | %s |\n", v.Goal, v.Measured, v)
	}
}

// Tables returns what was found besides the contests.
func (r *Report) Tables() []Table {
	var all []Table
	for _, f := range r.Findings {
		all = append(all, f.Tables...)
	}
	return append(all, profileTables(r.Profiles)...)
}

func (t *Table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Header, " | "),
		strings.Repeat("---|", len(t.Header)))
	for _, row := range t.Rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}

func (r *Report) figures(b *strings.Builder) {
	b.WriteString("\nProcessor time is that of all processes of a store per 10,000 operations; memory is what they " +
		"hold resident;\nflushes are those of the state of turnlog's nodes, of all nodes and rounds together.\n")
	title := ""
	for _, s := range r.Series {
		if s.Workload != title {
			title = s.Workload
			fmt.Fprintf(b, "\n## %s\n\n| clients | store | per second | × first | p50 | p90 | p99 | p99.9 | "+
				"processor | memory | flushes | errors |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n", title)
		}
		for _, row := range s.Rows() {
			fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		}
	}
}

// Rows returns a line of figures for each contestant: clients, name, operations
// per second, how many times as many the first contestant has, p50, p90, p99, p99.9,
// processor time, memory, flushes, errors.
func (s *Series) Rows() [][]string {
	var rows [][]string
	for _, name := range s.Names {
		r := s.Of(name)
		ratio := "1"
		if name != s.Names[0] {
			ratio = fmt.Sprintf("%.2f", 1/s.Ratio(s.Names[0], name))
		}
		processor, memory, flushes := "–", "–", "–"
		if r.CPU > 0 {
			processor = fmt.Sprintf("%.2f s", r.CPU)
		}
		if r.RSS > 0 {
			memory = fmt.Sprintf("%d MB", r.RSS/1e6)
		}
		if r.Flushes != nil {
			flushes = fmt.Sprint(*r.Flushes)
		}
		rows = append(rows, []string{fmt.Sprint(s.Clients), name, Thousands(r.PerSecond), ratio,
			micros(r.P50), micros(r.P90), micros(r.P99), micros(r.P999), processor, memory, flushes,
			fmt.Sprint(r.Errors)})
	}
	return rows
}
