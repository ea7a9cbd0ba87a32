package lincheck

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Violation is a broken promise.
type Violation struct {
	Session string  `json:"session"`
	Rule    string  `json:"rule"`
	Text    string  `json:"text"`
	Ops     []int64 `json:"ops"` // operations that show it
}

func (v Violation) String() string {
	return fmt.Sprintf("session %q: %s: %s (operations %v)", v.Session, v.Rule, v.Text, v.Ops)
}

// Verdict is the judgement of a history.
type Verdict struct {
	Operations int         `json:"operations"`
	Sessions   int         `json:"sessions"`
	Searched   int         `json:"searched"` // sessions judged by search, alone or besides
	Violations []Violation `json:"violations"`
	Undecided  []Violation `json:"undecided"`
}

// Passed reports whether everything was decided and nothing was broken.
func (v *Verdict) Passed() bool { return len(v.Violations) == 0 && len(v.Undecided) == 0 }

func (v *Verdict) add(o *Verdict) {
	v.Operations += o.Operations
	v.Sessions += o.Sessions
	v.Searched += o.Searched
	v.Violations = append(v.Violations, o.Violations...)
	v.Undecided = append(v.Undecided, o.Undecided...)
}

// session is one session under judgement.
type session struct {
	name  string
	ops   []*history.Operation // by invocation
	homes map[string]string    // value → session that it was appended to
	out   *Verdict
}

// perRule is how many findings by one rule a session may have: what is doubled
// once is seen by every later read.
const perRule = 3

func (s *session) violation(rule, text string, ops ...*history.Operation) {
	same := 0
	for _, v := range s.out.Violations {
		if v.Rule == rule {
			same++
		}
	}
	if same >= perRule {
		return
	}
	s.out.Violations = append(s.out.Violations, s.finding(rule, text, ops))
}

func (s *session) undecided(rule, text string, ops ...*history.Operation) {
	s.out.Undecided = append(s.out.Undecided, s.finding(rule, text, ops))
}

func (s *session) finding(rule, text string, ops []*history.Operation) Violation {
	v := Violation{Session: s.name, Rule: rule, Text: text}
	for _, op := range ops {
		v.Ops = append(v.Ops, op.ID)
	}
	return v
}

func describe(op *history.Operation) string {
	return fmt.Sprintf("%s %d through %s", op.Call.Func, op.ID, op.Node)
}
