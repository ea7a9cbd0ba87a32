package contract

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// turnKey names a turn within a session: the number that writer gave it.
type turnKey struct {
	Writer int `json:"w"`
	Turn   int `json:"t"`
}

func (k turnKey) String() string { return fmt.Sprintf("writer %d turn %d", k.Writer, k.Turn) }

// label is what every numbered message says about itself, so that one that turns
// up can be told from all others.
type label struct {
	token string // of the session
	turnKey
	part, parts int // from 1
}

func (l label) String() string {
	return fmt.Sprintf("%s message %d of %d", l.turnKey, l.part, l.parts)
}

const labelForm = "[%s w%d t%d %d/%d]"

func parseLabel(content string) (label, bool) {
	var l label
	head, _, ok := strings.Cut(content, " | ")
	if !ok {
		return l, false
	}
	head = strings.ReplaceAll(head, "]", " ]")
	n, err := fmt.Sscanf(head, "[%s w%d t%d %d/%d ]", &l.token, &l.Writer, &l.Turn, &l.part, &l.parts)
	return l, err == nil && n == 5
}

// script makes the numbered messages of one session. The same script makes the
// same messages again.
type script struct {
	token string
	seed  uint64
}

// newScript returns the script of a session; run tells this run of the suite from
// all others.
func newScript(seed uint64, run, session string) script {
	h := fnv.New32a()
	h.Write([]byte(run + "/" + session))
	return script{token: fmt.Sprintf("%07x", h.Sum32()&0xfffffff), seed: seed}
}

// turn returns the messages of a turn: user, assistant, user, …
func (s script) turn(k turnKey, parts int) []Message {
	ms := make([]Message, parts)
	for i := range ms {
		ms[i] = s.message(label{token: s.token, turnKey: k, part: i + 1, parts: parts})
	}
	return ms
}

func (s script) message(l label) Message {
	random := rand.New(rand.NewPCG(s.seed, uint64(l.Writer)<<40|uint64(l.Turn)<<8|uint64(l.part)))
	words := make([]string, 3+random.IntN(12))
	for i := range words {
		words[i] = vocabulary[random.IntN(len(vocabulary))]
	}
	role := "user"
	if l.part%2 == 0 {
		role = "assistant"
	}
	return Message{
		ID:      fmt.Sprintf("%s-%d-%d-%d", l.token, l.Writer, l.Turn, l.part),
		Role:    role,
		Content: fmt.Sprintf(labelForm, l.token, l.Writer, l.Turn, l.part, l.parts) + " | " + strings.Join(words, " "),
	}
}

// genuine reports whether m is unchanged, given the label that it bears.
func (s script) genuine(l label, m Message) bool { return s.message(l).Equal(m) }

var vocabulary = strings.Fields(`order number four seven package arrived late again please where is my invoice thank you
	the red one not blue Größe é 東京 שלום 👩‍🚀 shipping address changed refund pending loan rate percent tomorrow`)
