package migrate

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Verdict is what was found out about a key.
type Verdict string

const (
	Copied   Verdict = "copied"
	Present  Verdict = "present"  // the target had the same already
	Replaced Verdict = "replaced" // the target had something else, with Config.Replace
	Vanished Verdict = "vanished" // deleted or expired before it was read
	Verified Verdict = "verified" // the same at both ends

	Unsupported Verdict = "unsupported" // a type that cannot be moved; nothing written
	// the target does not take it, as of its size; nothing is left of it there
	Refused     Verdict = "refused"
	Conflict    Verdict = "conflict"          // the target has something else, which was left as it is
	Groups      Verdict = "consumer groups"   // the stream was moved, its consumer groups were not
	ChangedHere Verdict = "changed at source" // meanwhile; the target has what was copied
	Gone        Verdict = "gone at source"    // deleted or expired meanwhile; the target has what was copied
	ChangedAway Verdict = "changed at target" // meanwhile; the source has what was copied
	Different   Verdict = "different"         // and it is not known at which end it has changed
	Missing     Verdict = "missing"           // the target does not have it
	Deadline    Verdict = "deadline"          // the same, but it expires at another time
)

// Verdicts lists all, those that need no attention first.
var Verdicts = []Verdict{Copied, Present, Replaced, Vanished, Verified,
	Unsupported, Refused, Conflict, Groups, ChangedHere, Gone, ChangedAway, Different, Missing, Deadline}

// Problem reports whether a key with that verdict is not at the target as it is
// at the source.
func (v Verdict) Problem() bool { return slices.Index(Verdicts, v) > slices.Index(Verdicts, Verified) }

// Finding is one key that needs attention.
type Finding struct {
	DB      int     `json:"db"`
	Key     string  `json:"key"` // at the source
	Type    string  `json:"type"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Amount is what there is of one type.
type Amount struct {
	Keys     int64 `json:"keys"`
	Elements int64 `json:"elements"`
	Bytes    int64 `json:"bytes"` // of elements and their names
	Expiring int64 `json:"expiring"`
}

// maxFindings bounds the findings that are kept; all are counted.
const maxFindings = 10_000

// Report is what became of all keys. Its methods may be called while a job runs.
type Report struct {
	mu       sync.Mutex
	verdicts map[Verdict]int64
	types    map[string]Amount
	findings []Finding
}

// NewReport returns an empty report.
func NewReport() *Report { return &Report{verdicts: map[Verdict]int64{}, types: map[string]Amount{}} }

func (r *Report) note(f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdicts[f.Verdict]++
	if f.Verdict.Problem() && len(r.findings) < maxFindings {
		r.findings = append(r.findings, f)
	}
}

func (r *Report) count(typ string, a Amount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.types[typ]
	r.types[typ] = Amount{t.Keys + a.Keys, t.Elements + a.Elements, t.Bytes + a.Bytes, t.Expiring + a.Expiring}
}

// Count returns how many keys have that verdict.
func (r *Report) Count(v Verdict) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdicts[v]
}

// Problems returns how many findings there are.
func (r *Report) Problems() (n int64) {
	for _, v := range Verdicts {
		if v.Problem() {
			n += r.Count(v)
		}
	}
	return n
}

// Types returns what was copied, or found at the target already, by type.
func (r *Report) Types() map[string]Amount {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.types)
}

// Findings returns the keys that need attention, the first 10,000 of them, by
// database, verdict and key.
func (r *Report) Findings() []Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.findings), func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Key, b.Key))
	})
}
