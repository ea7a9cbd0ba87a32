package httpapi

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// params reads the query parameters of a request and keeps the first mistake.
type params struct {
	values url.Values
	err    error
}

// parseParams refuses parameters that are not among names, or given twice: a
// misspelt limit must not become no limit.
func parseParams(rawQuery string, names []string) (*params, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, turn.Errorf(turn.Invalid, "query: %v", err)
	}
	for name, vs := range values {
		if !slices.Contains(names, name) {
			return nil, turn.Errorf(turn.Invalid, "query parameter %.64q: unknown; this path has %q", name, names)
		}
		if len(vs) > 1 && name != labelParam {
			return nil, turn.Errorf(turn.Invalid, "%s: given twice", name)
		}
	}
	return &params{values: values}, nil
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = turn.Errorf(turn.Invalid, format, args...)
	}
}

func (p *params) given(name string) bool { return p.values.Has(name) }

func (p *params) text(name string) string { return p.values.Get(name) }

// number returns an integer from least to 2^53, or otherwise if it is not given.
func (p *params) number(name string, least, otherwise uint64) uint64 {
	if !p.given(name) {
		return otherwise
	}
	s := p.values.Get(name)
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n < least || n > maxNumber {
		p.fail("%s: must be an integer from %d to %d, is %.32q", name, least, uint64(maxNumber), s)
	}
	return n
}

// choice returns the parameter, which must be one of the choices; the first
// choice if it is not given.
func (p *params) choice(name string, choices ...string) string {
	if !p.given(name) {
		return choices[0]
	}
	s := p.values.Get(name)
	if !slices.Contains(choices, s) {
		p.fail("%s: must be one of %q, is %.32q", name, choices, s)
	}
	return s
}

func (p *params) expect() *uint64 {
	if !p.given("expect") {
		return nil
	}
	n := p.number("expect", 0, 0)
	return &n
}

const (
	linearizable = "linearizable"
	bounded      = "bounded"
	stale        = "stale"
)

// consistency reads the two parameters that say how fresh a read must be, and
// returns the name by which the answer is labelled.
func (p *params) consistency() (turn.Consistency, string) {
	label := p.choice("consistency", linearizable, bounded, stale)
	if p.given("max_age_ms") != (label == bounded) {
		p.fail("max_age_ms: belongs to consistency=bounded, and is needed there")
	}
	switch label {
	case bounded:
		const most = 24 * time.Hour
		age := p.number("max_age_ms", 1, 1)
		if age > uint64(most/time.Millisecond) {
			p.fail("max_age_ms: at most a day")
		}
		return turn.Consistency{Level: turn.Bounded, MaxAge: time.Duration(age) * time.Millisecond}, label
	case stale:
		return turn.Consistency{Level: turn.Stale}, label
	}
	return turn.Consistency{Level: turn.Linearizable}, label
}

func (p *params) encoding() encoding {
	return encoding{base64: p.choice("encoding", "json", "base64") == "base64"}
}

// labelParam may be given several times.
const labelParam = "label"

// labels reads label=NAME=VALUE, as often as it is given.
func (p *params) labels() (labels []turn.Label) {
	for _, s := range p.values[labelParam] {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			p.fail("label: must be NAME=VALUE, is %.64q", s)
		}
		labels = append(labels, turn.Label{Name: name, Value: value})
	}
	return labels
}

// A cursor is any bytes inside turnlog, and a word outside.

func (p *params) cursor() string {
	b, err := base64.RawURLEncoding.DecodeString(p.text("cursor"))
	if err != nil {
		p.fail("cursor: not one that an answer contained")
	}
	return string(b)
}

func cursorWord(cursor string) string { return base64.RawURLEncoding.EncodeToString([]byte(cursor)) }
