package recall

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/turnlog/turnlog/contract"
)

// fact is something that a user says about himself.
type fact struct{ subject, value string }

func (f fact) statement() string { return fmt.Sprintf("My %s is %s.", f.subject, f.value) }
func (f fact) question() string  { return fmt.Sprintf("What is my %s?", f.subject) }
func (f fact) answer() string    { return fmt.Sprintf("Your %s is %s.", f.subject, f.value) }

var subjects = []string{"name", "cat's name", "dog's name", "order number", "city", "favourite colour", "allergy",
	"birthday", "profession",
	"language", "sister's name", "shoe size", "train", "account number", "favourite dish", "doctor"}

// facts returns n facts; those in the last quarter correct earlier ones.
func facts(random *rand.Rand, n int) []fact {
	out := make([]fact, n)
	fresh := n - n/4
	order := random.Perm(len(subjects))
	for i := range out {
		subject := subjects[order[i%fresh%len(subjects)]]
		if i >= fresh {
			subject = out[random.IntN(fresh)].subject
		}
		out[i] = fact{subject, fmt.Sprintf("%s %d", []string{"Ada", "Miso", "Łódź", "vier", "B"}[random.IntN(5)],
			random.IntN(100000))}
	}
	return out
}

// latest returns the facts that were not corrected later.
func latest(fs []fact) []fact {
	last := map[string]int{}
	for i, f := range fs {
		last[f.subject] = i
	}
	var out []fact
	for i, f := range fs {
		if last[f.subject] == i {
			out = append(out, f)
		}
	}
	return out
}

// model answers out of the messages that it is given, and out of nothing else.
func model(history []contract.Message, text string) string {
	subject, isQuestion := between(text, "What is my ", "?")
	if !isQuestion {
		return "I will remember that."
	}
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Role != "user" {
			continue
		}
		_, said, _ := strings.Cut(history[i].Content, ". ") // its number
		if value, ok := between(said, "My "+subject+" is ", "."); ok {
			return fact{subject, value}.answer()
		}
	}
	return "I do not know that."
}

func between(s, before, after string) (string, bool) {
	rest, ok := strings.CutPrefix(s, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, after)
}
