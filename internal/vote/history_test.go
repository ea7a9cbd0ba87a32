package vote

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// Whatever becomes of a node and of its disk, and in whatever order: it is killed, its power is cut, a
// write or a sync fails, the disk is full, one of the files is damaged. It gives no vote twice, goes
// back to no earlier term, and starts again when nothing is left to hinder it.
func TestHistoriesOfANode(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		h := &voter{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), disk: begun(t),
			given: make(map[uint64]string)}
		for range 30 {
			h.life()
		}
	}
}

// voter is a node that votes as Raft does.
type voter struct {
	t    *testing.T
	seed uint64
	rnd  *rand.Rand
	disk *simdisk.Disk

	given map[uint64]string // by term
	term  uint64            // the highest that it said it was in
	next  *simdisk.Disk     // as the next start finds it, once the node has come to its end
}

// life is a start, some votes, and an end.
func (v *voter) life() {
	v.next = nil
	end, ends := v.rnd.IntN(40), v.end()
	v.disk.Observe(func(simdisk.Op) {
		if end--; end == 0 && v.next == nil {
			v.next = ends()
		}
	})
	v.disk.Fail(v.fault())
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.live()
	}()
	<-done
	v.disk.Observe(nil)
	v.disk.Fail(nil)
	if v.next == nil {
		v.next = ends()
	}
	v.disk = v.next
	v.damage()
	s := v.open(func(err error) { v.t.Fatal(err) })
	if s == nil {
		v.t.Fatalf("seed %d: it does not start, and nothing hinders it", v.seed)
	}
	v.check(s)
	if err := s.Close(); err != nil {
		v.t.Fatal(err)
	}
}

// end is how the node ends: its process alone, or its machine.
func (v *voter) end() func() *simdisk.Disk {
	if v.rnd.IntN(2) == 0 {
		return v.disk.Kill
	}
	policies := simdisk.Policies()
	p := policies[v.rnd.IntN(len(policies))]
	return func() *simdisk.Disk { return v.disk.Crash(p, v.rnd) }
}

// fault is what the disk fails at: a part of what comes after some time.
func (v *voter) fault() func(simdisk.Op) error {
	from, errs := v.rnd.IntN(60), []error{nil, syscall.EIO, syscall.ENOSPC, syscall.EDQUOT}
	err, seldom := errs[v.rnd.IntN(len(errs))], 1+v.rnd.IntN(3)
	return func(op simdisk.Op) error {
		if from--; from > 0 || !op.Changes() || v.rnd.IntN(seldom) > 0 {
			return nil
		}
		return err
	}
}

// damage flips a bit of one of the files, if there are two.
func (v *voter) damage() {
	name, other := "/"+FileName, "/"+CopyName
	if v.rnd.IntN(2) == 0 {
		name, other = other, name
	}
	names, err := v.disk.List(dir)
	if err != nil || v.rnd.IntN(3) > 0 {
		return
	}
	has := make(map[string]bool)
	for _, n := range names {
		has["/"+n] = true
	}
	if has[name] && has[other] {
		if err := v.disk.Rot(name, int64(v.rnd.IntN(pageSize)), 1<<v.rnd.IntN(8)); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *voter) open(halt func(error)) *Store {
	s, err := Open(dir, Config{Disk: v.disk, Halt: halt, Logger: slog.New(slog.DiscardHandler),
		Member: func() (bool, error) { return true, nil }})
	if err != nil {
		return nil
	}
	return s
}

// live starts the node and has it vote until it ends by itself, or has voted enough.
func (v *voter) live() {
	s := v.open(func(error) { runtime.Goexit() })
	if s == nil {
		return // its disk hinders it
	}
	defer func() { _ = s.Close() }() // it may fail on a failing disk
	v.check(s)
	for range 6 {
		term, _ := s.GetUint64([]byte(KeyTerm))
		if term += uint64(v.rnd.IntN(2)); term == 0 {
			continue
		}
		set(v.t, s, KeyTerm, term)
		v.said(term)
		voteTerm, _ := s.GetUint64([]byte(KeyVoteTerm))
		candidate, _ := s.Get([]byte(KeyVote))
		if voteTerm == term && candidate != nil {
			continue
		}
		set(v.t, s, KeyVoteTerm, term)
		candidate = fmt.Appendf(nil, "n%d", v.rnd.IntN(3))
		if err := s.Set([]byte(KeyVote), candidate); err != nil {
			v.t.Error(err)
		}
		v.gave(term, string(candidate))
	}
}

// said notes a term that the node was in, unless that was after its end.
func (v *voter) said(term uint64) {
	if v.next == nil {
		v.term = max(v.term, term)
	}
}

// gave notes a vote, unless that was after the node's end.
func (v *voter) gave(term uint64, candidate string) {
	if v.next != nil {
		return
	}
	if before, voted := v.given[term]; voted && before != candidate {
		v.t.Errorf("seed %d: it voted for %s and for %s in term %d", v.seed, before, candidate, term)
	}
	v.given[term] = candidate
}

// check requires a node that has started to know what it said before.
func (v *voter) check(s *Store) {
	term, _ := s.GetUint64([]byte(KeyTerm))
	voteTerm, err := s.GetUint64([]byte(KeyVoteTerm))
	candidate, err2 := s.Get([]byte(KeyVote))
	if err := errors.Join(err, err2); err != nil || term < v.term || s.Promised() < v.term {
		v.t.Errorf("seed %d: it is in term %d, and promised %d, after %d: %v", v.seed, term, s.Promised(), v.term, err)
	}
	v.said(term)
	if before, voted := v.given[voteTerm]; voted && before != string(candidate) {
		v.t.Errorf("seed %d: it voted for %s in term %d, and says that it was %q", v.seed, before, voteTerm, candidate)
	}
}
