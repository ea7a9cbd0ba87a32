package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Figures are the figures of a history. Times are in nanoseconds.
type Figures struct {
	WritesPerSecond float64 `json:"writes_per_second"`
	// Quarters are the acknowledged writes a second of each quarter of the work.
	Quarters [4]float64 `json:"quarters"`
	// Quorum is the share of each quarter in which writes can be asked for: the faults left a
	// quorum, and had for electionTime.
	Quorum        [4]float64          `json:"quorum"`
	LongestPause  int64               `json:"longest_pause_ns"` // between two acknowledged writes
	Write         Latency             `json:"write_latency"`
	Read          Latency             `json:"read_latency"`
	Errors        map[string]int      `json:"errors"` // code → calls that ended with it, all phases
	Faults        int                 `json:"faults"`
	LeaderChanges int                 `json:"leader_changes"`
	AnswersLost   int64               `json:"answers_lost"`
	Recovery      map[string]Recovery `json:"recovery"` // fault → how the cluster took it
	StateHash     string              `json:"state_hash"`
	HashIndex     uint64              `json:"hash_index"`
	// Sometimes counts events inside the nodes that a long run must have seen.
	Sometimes map[string]float64 `json:"sometimes"`
}

// Latency sums up how long answered calls took.
type Latency struct {
	Count  int   `json:"count"`
	Median int64 `json:"median_ns"`
	P99    int64 `json:"p99_ns"`
	Max    int64 `json:"max_ns"`
}

// Recovery sums up one kind of fault.
type Recovery struct {
	Times int `json:"times"`
	// Pause is the longest time without an acknowledged write that began
	// between the fault and its healing.
	PauseMedian int64 `json:"pause_median_ns"`
	PauseWorst  int64 `json:"pause_worst_ns"`
	// Heal is the time from the end of the fault to the next acknowledged write.
	HealMedian int64 `json:"heal_median_ns"`
	HealWorst  int64 `json:"heal_worst_ns"`
}

// LeaderNote begins the notes that tell of a new leader. The others tell that the nodes that
// run and reach one another are no majority, and that they are one again.
const (
	LeaderNote     = "leader"
	QuorumGoneNote = "no quorum"
	QuorumBackNote = "quorum again"
)

// electionTime is how long nodes that are a majority again may take to elect a leader, starting
// and catching up included.
const electionTime = 3 * time.Second

// Measure takes the figures of the work between two times of a history.
func Measure(h *history.History, from, to time.Duration) Figures {
	f := Figures{Recovery: map[string]Recovery{}, Sometimes: map[string]float64{}, Errors: map[string]int{}}
	var writes, reads, acks []int64
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.Error != nil {
			f.Errors[op.Error.Code]++
		}
		if op.Outcome != history.OK || op.Invoke < int64(from) || op.Return > int64(to) {
			continue
		}
		switch {
		case op.Call.Func.Writes():
			writes = append(writes, op.Return-op.Invoke)
			acks = append(acks, op.Return)
		case op.Call.Func == history.Read && !op.Call.Final:
			reads = append(reads, op.Return-op.Invoke)
		}
	}
	slices.Sort(acks)
	f.Write, f.Read = latency(writes), latency(reads)
	if to > from {
		quarter := (to - from) / 4
		for i := range f.Quarters {
			first, _ := slices.BinarySearch(acks, int64(from+time.Duration(i)*quarter))
			last, _ := slices.BinarySearch(acks, int64(from+time.Duration(i+1)*quarter))
			f.Quarters[i] = float64(last-first) / quarter.Seconds()
			f.Quorum[i] = quorumShare(h, int64(from+time.Duration(i)*quarter), int64(from+time.Duration(i+1)*quarter))
		}
		f.WritesPerSecond = float64(len(acks)) / (to - from).Seconds()
	}
	f.LongestPause = longestPause(acks, int64(from), int64(to))
	for _, m := range h.Marks {
		if m.Type == history.Note && strings.HasPrefix(m.Text, LeaderNote) {
			f.LeaderChanges++
		}
	}
	f.LeaderChanges = max(0, f.LeaderChanges-1) // the first was no change
	f.measureFaults(h.Faults(), acks)
	return f
}

// quorumShare is the share of [from, to) in which there was a quorum, elections left out.
func quorumShare(h *history.History, from, to int64) float64 {
	var without int64
	gone := int64(-1) // when the quorum was lost that is missing
	counted := from   // up to here
	span := func(end int64) {
		end = min(end, to)
		without += max(0, end-max(gone, counted))
		counted = max(counted, end)
	}
	for _, m := range h.Marks {
		switch {
		case m.Type != history.Note:
		case m.Text == QuorumGoneNote && gone < 0:
			gone = m.Time
		case m.Text == QuorumBackNote && gone >= 0:
			span(m.Time + int64(electionTime))
			gone = -1
		}
	}
	if gone >= 0 {
		span(to)
	}
	return 1 - float64(without)/float64(to-from)
}

func latency(d []int64) Latency {
	if len(d) == 0 {
		return Latency{}
	}
	slices.Sort(d)
	return Latency{Count: len(d), Median: d[len(d)/2], P99: d[len(d)*99/100], Max: d[len(d)-1]}
}

// longestPause is the longest gap between acks that begins in [from, to).
func longestPause(acks []int64, from, to int64) int64 {
	i, _ := slices.BinarySearch(acks, from)
	last, longest := from, int64(0)
	if i > 0 {
		last = acks[i-1]
	}
	for ; i < len(acks) && last < to; i++ {
		longest = max(longest, acks[i]-last)
		last = acks[i]
	}
	if i == len(acks) {
		longest = max(longest, to-last)
	}
	return longest
}

func (f *Figures) measureFaults(list []history.FaultTime, acks []int64) {
	pauses, heals := map[string][]int64{}, map[string][]int64{}
	for _, i := range list {
		f.Faults++
		pauses[i.Name] = append(pauses[i.Name], longestPause(acks, i.Begin, i.End))
		if k, _ := slices.BinarySearch(acks, i.End); k < len(acks) {
			heals[i.Name] = append(heals[i.Name], acks[k]-i.End)
		}
	}
	for name, p := range pauses {
		r := Recovery{Times: len(p), PauseMedian: latency(p).Median, PauseWorst: latency(p).Max}
		if h := latency(heals[name]); h.Count > 0 {
			r.HealMedian, r.HealWorst = h.Median, h.Max
		}
		f.Recovery[name] = r
	}
}

func (f *Figures) faultNames() []string { return slices.Sorted(maps.Keys(f.Recovery)) }
