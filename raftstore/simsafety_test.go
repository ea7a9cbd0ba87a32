package raftstore

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// raftSafety judges what the nodes of a cluster send and store by two properties
// of the Raft paper (figure 3) on which all promises rest.
type raftSafety struct {
	seed maphash.Seed

	mu      sync.Mutex
	leaders map[uint64]string            // by term: election safety
	entries map[raftlog.Position]logItem // log matching
	broken  []string
}

type logItem struct {
	sum uint64
	on  string // the node that stored it first
}

func newRaftSafety() *raftSafety {
	return &raftSafety{seed: maphash.MakeSeed(), leaders: make(map[uint64]string),
		entries: make(map[raftlog.Position]logItem)}
}

// sent notes the leader of a term by a message without entries that it sends.
func (s *raftSafety) sent(id string, request []byte) {
	term := []byte("\xa4Term")
	if len(request) == 0 || request[0] != 0 || bytes.Count(request, term) != 1 {
		return
	}
	t, ok := packedUint(request[bytes.Index(request, term)+len(term):])
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.leaders[t]
	if known != "" && known != id {
		s.reportLocked(fmt.Sprintf("%s and %s lead in term %d", known, id, t))
	}
	s.leaders[t] = id
}

// stored notes entries that a node makes durable: those with the same index and
// term are the same.
func (s *raftSafety) stored(id string, logs []*raft.Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range logs {
		p, sum := raftlog.Position{Index: l.Index, Term: l.Term},
			maphash.Bytes(s.seed, append([]byte{byte(l.Type)}, l.Data...))
		known, ok := s.entries[p]
		if ok && known.sum != sum {
			s.reportLocked(fmt.Sprintf("entry %d of term %d is one on %s and another on %s", p.Index, p.Term,
				known.on, id))
		}
		if !ok {
			s.entries[p] = logItem{sum, id}
		}
	}
}

func (s *raftSafety) reportLocked(what string) {
	if len(s.broken) < 5 && !slices.Contains(s.broken, what) {
		s.broken = append(s.broken, what)
	}
}

// judge fails the test if a property was broken, or nothing was seen.
func (s *raftSafety) judge(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.broken {
		t.Error(b)
	}
	if len(s.leaders) == 0 || len(s.entries) == 0 {
		t.Errorf("%d leaders and %d entries were seen", len(s.leaders), len(s.entries))
	}
}

// packedUint reads a number as msgpack writes it.
func packedUint(b []byte) (v uint64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	if b[0] < 0x80 {
		return uint64(b[0]), true
	}
	size := map[byte]int{0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8}[b[0]]
	if size == 0 || len(b) <= size {
		return 0, false
	}
	for _, d := range b[1 : 1+size] {
		v = v<<8 | uint64(d)
	}
	return v, true
}
