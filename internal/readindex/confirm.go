package readindex

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
)

// A confirmation is asked for with 8 bytes of nonce and 8 of term, and answered
// with the same nonce and the term that the voter promised.
const confirmBytes = 16

// errMalformed is what a voter answers to a question that no leader asks.
var errMalformed = errors.New("readindex: malformed question of a leader")

// poll is the question of one round, with a nonce of its own.
type poll struct {
	peers    Peers
	question []byte
	votes    chan vote
}

// vote is a voter's answer; no answer is none.
type vote struct {
	id  string
	yes bool
}

func newPoll(peers Peers, term uint64, voters int) poll {
	question := make([]byte, confirmBytes)
	_, _ = rand.Read(question[:8])
	binary.LittleEndian.PutUint64(question[8:], term)
	return poll{peers, question, make(chan vote, voters)}
}

// ask asks each once.
func (p poll) ask(voters []string) {
	for _, id := range voters {
		p.peers.Confirm(id, p.question, func(answer []byte, err error) {
			p.votes <- vote{id, err == nil && confirmed(p.question, answer)}
		})
	}
}

func confirmed(question, answer []byte) bool {
	return len(answer) == confirmBytes && string(answer[:8]) == string(question[:8]) &&
		binary.LittleEndian.Uint64(answer[8:]) <= binary.LittleEndian.Uint64(question[8:])
}

// Confirm is a voter's answer to a leader's question. promised returns the highest term that the
// voter promised anything in; Confirm reads it after the question came.
func Confirm(question []byte, promised func() uint64) ([]byte, error) {
	if len(question) != confirmBytes {
		return nil, errMalformed
	}
	return binary.LittleEndian.AppendUint64(question[:8:8], promised()), nil
}
