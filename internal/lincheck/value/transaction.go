package value

import (
	"strconv"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Transaction is a turnlog transaction over the keys of a Moved. Histories have it as the words of
//
//	TURN.TX ID id [IF key REVISION n|SEQ n|EXISTS|ABSENT …] STEP command key [arg …] […]
//
// without the numbers of words, and without ids of messages: these have none.
type Transaction struct {
	ID         string
	Conditions []Condition
	Steps      []Step
}

// Condition is what a Transaction demands of a key: Is is one of the words of TURN.TX.
type Condition struct {
	Key, Is string
	N       uint64
}

// Step is one command of a Transaction: its name, its key, and the words behind that.
type Step struct {
	Name, Key string
	Args      []string
}

// Names of commands that are not only written here.
const (
	Tx       = "TURN.TX"
	Snapshot = "SNAPSHOT" // all keys of a Moved at one moment
)

// Words returns the transaction as a history has it.
func (t *Transaction) Words() []string {
	words := []string{Tx, "ID", t.ID}
	for _, c := range t.Conditions {
		words = append(words, "IF", c.Key, c.Is)
		if c.numbered() {
			words = append(words, strconv.FormatUint(c.N, 10))
		}
	}
	for _, s := range t.Steps {
		words = append(append(words, "STEP", s.Name, s.Key), s.Args...)
	}
	return words
}

// ParseTransaction reads what Words wrote.
func ParseTransaction(words []string) (t Transaction) {
	t.ID = words[2]
	words = words[3:]
	for len(words) > 0 && words[0] == "IF" {
		c := Condition{Key: words[1], Is: words[2]}
		words = words[3:]
		if c.numbered() {
			c.N = uint64(integer(words[0]))
			words = words[1:]
		}
		t.Conditions = append(t.Conditions, c)
	}
	for len(words) > 0 {
		s := Step{Name: words[1], Key: words[2]}
		for words = words[3:]; len(words) > 0 && words[0] != "STEP"; words = words[1:] {
			s.Args = append(s.Args, words[0])
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

func (c *Condition) numbered() bool { return c.Is == "REVISION" || c.Is == "SEQ" }

// Number is an argument of a step that is a number.
func (s *Step) Number(i int) uint64 { return uint64(integer(s.Args[i])) }

// Texts are the payloads that a step brings, nil if it brings none.
func (s *Step) Texts() []string {
	switch s.Name {
	case "TURN.APPEND":
		return s.Args
	case "TURN.REPLACE":
		return s.Args[1:]
	case "TURN.EDIT":
		return s.Args[1:]
	}
	return nil
}

// Answered is the answer to a transaction in the words of Do, from what was answered to each step.
func (t *Transaction) Answered(duplicate bool, steps []history.Result) string {
	answers := make([]string, len(steps))
	for i := range steps {
		answers[i] = stepAnswer(t.Steps[i].Name, &steps[i])
	}
	again := "0"
	if duplicate {
		again = "1"
	}
	return fields("duplicate", again, "steps", array(answers))
}

// stepAnswer is what every interface answers to a step.
func stepAnswer(name string, r *history.Result) string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	switch name {
	case "TURN.APPEND":
		return fields("count", number(r.Count), "first_seq", number(r.First), "last_seq", number(r.Last))
	case "TURN.REPLACE":
		return fields("count", number(r.Count), "first_seq", number(r.First), "last_seq", number(r.Last), "removed",
			number(r.Removed))
	case "TURN.POP":
		return fields("count", number(r.Count), "messages", placed(r.Messages))
	case "TURN.EDIT", "TURN.RENAME":
		return fields("count", number(r.Count))
	case "TURN.DELETE":
		return fields("removed", number(r.Removed))
	}
	return fields("count", number(r.Count), "removed", number(r.Removed))
}

// placed are messages as an answer has them.
func placed(ms []history.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, array([]string{strconv.FormatUint(m.Seq, 10), bulk(m.Value)}))
	}
	return array(out)
}

// Shown is the answer to a Snapshot in the words of Do.
func Shown(places []history.Place) string {
	var out []string
	for i := range places {
		out = append(out, fields("last_seq", strconv.FormatUint(places[i].Last, 10), "messages",
			placed(places[i].Messages)))
	}
	return array(out)
}
