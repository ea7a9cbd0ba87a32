package contract

import (
	"fmt"
	"strings"
)

// audit compares what a session holds with what was said about each write to it.
type audit struct {
	script script
	events []event // of the session, by start
	// whole: the messages of a turn must be next to each other.
	whole bool
	// removed: messages may be missing, since something removed some.
	removed bool
}

// finding is something wrong with one message, or with a turn.
type finding struct {
	what string // lost, doubled, reordered, torn, damaged, foreign, unsaved
	text string
	key  turnKey // whose event explains it best; the zero value: none
}

// violation is the error of an audit that found something.
type violation struct {
	findings []finding
	context  string
}

const shownFindings = 12

func (v *violation) Error() string {
	counts := map[string]int{}
	var kinds []string
	for _, f := range v.findings {
		if counts[f.what]++; counts[f.what] == 1 {
			kinds = append(kinds, f.what)
		}
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.Join(kinds, ", "))
	for i, f := range v.findings {
		if i == shownFindings {
			fmt.Fprintf(&b, "  … and %d more\n", len(v.findings)-i)
			break
		}
		fmt.Fprintf(&b, "  %s: %s\n", f.what, f.text)
	}
	b.WriteString(v.context)
	return strings.TrimSuffix(b.String(), "\n")
}

// seen is a message that was loaded, with the place at which it was.
type seen struct {
	label
	at int
}

// check returns a *violation, or nil if loaded is what the events allow.
func (a *audit) check(loaded []Message) error {
	v := &violation{}
	turns := a.read(loaded, v)
	a.presence(turns, v)
	a.order(turns, v)
	if len(v.findings) == 0 {
		return nil
	}
	if k := v.findings[0].key; k != (turnKey{}) {
		v.context = around(a.events, func(e *event) bool { return e.Key == k && (e.Op == opAdd || e.Op == opAddIf) })
	}
	return v
}

// read returns the genuine messages of this session, in the order of loaded, each
// once.
func (a *audit) read(loaded []Message, v *violation) []seen {
	var out []seen
	count := map[label]int{}
	for i, m := range loaded {
		l, ok := parseLabel(m.Content)
		switch {
		case !ok:
			v.add("damaged", turnKey{}, "the message at place %d cannot be recognised: %s", i+1, m)
		case l.token != a.script.token:
			v.add("foreign", turnKey{}, "place %d holds a message of another session: %s", i+1, m)
		case !a.script.genuine(l, m):
			v.add("damaged", l.turnKey, "%s came back as %s", l, m)
		default:
			if count[l]++; count[l] == 2 {
				v.add("doubled", l.turnKey, "%s is there twice, the second time at place %d of %d", l, i+1,
					len(loaded))
			}
			if count[l] == 1 {
				out = append(out, seen{l, i})
			}
		}
	}
	return out
}

// presence finds what was acknowledged and is missing, what was refused and is
// there, and turns of which only a part is there.
func (a *audit) presence(turns []seen, v *violation) {
	have := map[turnKey]map[int]bool{}
	for _, s := range turns {
		if have[s.turnKey] == nil {
			have[s.turnKey] = map[int]bool{}
		}
		have[s.turnKey][s.part] = true
	}
	for _, e := range a.writes() {
		parts := have[e.Key]
		delete(have, e.Key)
		switch {
		case e.Outcome == refused && len(parts) > 0:
			v.add("unsaved", e.Key, "%s was refused (%s) and is there all the same", e.Key, e.Err)
		case len(parts) == 0 && e.Outcome == saved && !a.removed:
			v.add("lost", e.Key, "%s was acknowledged, and none of its %d messages is there", e.Key, e.Parts)
		case len(parts) > 0 && len(parts) < e.Parts && !a.removed:
			for p := 1; p <= e.Parts; p++ {
				if !parts[p] {
					v.add("lost", e.Key, "%s message %d of %d is missing from a turn that is there in part", e.Key,
						p, e.Parts)
				}
			}
		}
	}
	for k := range have {
		v.add("foreign", turnKey{}, "%s is there, and was not written in this session", k)
	}
}

// writes returns, for each turn, what is known about it after all attempts.
func (a *audit) writes() []event {
	var out []event
	at := map[turnKey]int{}
	for _, e := range a.events {
		if e.Op != opAdd && e.Op != opAddIf {
			continue
		}
		i, again := at[e.Key]
		if !again {
			at[e.Key] = len(out)
			out = append(out, e)
			continue
		}
		known := &out[i]
		known.End = max(known.End, e.End)
		if e.Outcome == saved || known.Outcome == refused && e.Outcome == unknown {
			known.Outcome, known.Err = e.Outcome, e.Err
		}
	}
	return out
}

// order finds messages of one turn that are out of order or apart, and turns that
// are before others which were acknowledged before they were begun.
func (a *audit) order(turns []seen, v *violation) {
	for i := 1; i < len(turns); i++ {
		s, before := turns[i], turns[i-1]
		if same := s.turnKey == before.turnKey; same && s.part < before.part {
			v.add("reordered", s.turnKey, "%s is before part %d of its turn", before.label, s.part)
		}
	}
	if a.whole {
		a.contiguous(turns, v)
	}
	write := map[turnKey]event{}
	for _, e := range a.writes() {
		write[e.Key] = e
	}
	var latest event // the start that is latest among the turns so far
	for _, s := range turns {
		e, ok := write[s.turnKey]
		if !ok || s.part != 1 {
			continue
		}
		if e.Outcome == saved && e.End < latest.Start {
			v.add("reordered", e.Key, "%s was acknowledged %.3f ms before %s began, and is behind it (place %d)",
				e.Key, float64(latest.Start-e.End)/1e6, latest.Key, s.at+1)
		}
		if e.Start > latest.Start {
			latest = e
		}
	}
}

func (a *audit) contiguous(turns []seen, v *violation) {
	begun, torn := map[turnKey]bool{}, map[turnKey]bool{}
	for i, s := range turns {
		if begun[s.turnKey] && turns[i-1].turnKey != s.turnKey && !torn[s.turnKey] {
			torn[s.turnKey] = true
			v.add("torn", s.turnKey, "%s is parted from the rest of its turn by %s", s.label, turns[i-1].label)
		}
		begun[s.turnKey] = true
	}
}

func (v *violation) add(what string, k turnKey, form string, args ...any) {
	v.findings = append(v.findings, finding{what: what, key: k, text: fmt.Sprintf(form, args...)})
}

// turnsOf returns the turns of which ms shows a message, in order.
func turnsOf(ms []Message) []turnKey {
	var out []turnKey
	for _, m := range ms {
		if l, ok := parseLabel(m.Content); ok && (len(out) == 0 || out[len(out)-1] != l.turnKey) {
			out = append(out, l.turnKey)
		}
	}
	return out
}
