package rollback

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// A node that acknowledged an entry was in its term, even if no other node has heard of that.
func TestAcknowledgementTellsTheTerm(t *testing.T) {
	s := observations(t)
	s.byID["n2"] = Observation{Incarnation: "x", Index: 3, Term: 2, Promised: 2}
	s.Acked("n2", Start{}, raftlog.Position{Index: 9, Term: 4})
	if got := s.Last("n2"); got.Promised != 4 || got.Position() != (raftlog.Position{Index: 9, Term: 4}) {
		t.Errorf("seen of n2: %+v", got)
	}
}

// What is heard late, or of an entry of an earlier term, takes nothing back.
func TestObservationsRise(t *testing.T) {
	s := observations(t)
	seen := Observation{Incarnation: "x", Index: 9, Term: 4, Promised: 6}
	s.Met("n2", seen, 1)
	s.Voted("n2", 5)
	s.Acked("n2", s.Start("n2"), raftlog.Position{Index: 8, Term: 4})
	s.Met("n2", Observation{Incarnation: "x", Index: 12, Term: 3, Promised: 3}, 1)
	if got := s.Last("n2"); got != seen {
		t.Errorf("seen of n2: %+v, want %+v", got, seen)
	}
}

// What could not be saved is saved the next time, whether or not more was seen meanwhile.
func TestObservationsAreSavedAfterAFailure(t *testing.T) {
	s := observations(t)
	path := s.path
	s.Met("n2", Observation{Incarnation: "x", Index: 3, Term: 2, Promised: 2}, 1)
	s.path = filepath.Join(filepath.Dir(path), "absent", FileName)
	if s.Save() == nil {
		t.Fatal("it was saved in a folder that is not there")
	}
	s.path = path
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil || again.Last("n2").Index != 3 {
		t.Errorf("after a restart: %+v, %v", again.Last("n2"), err)
	}
}

// The first handshake with another directory of a node replaces what was seen of the one before.
func TestHandshakeTellsTheDirectory(t *testing.T) {
	s := observations(t)
	s.Greeted("n2", "x")
	s.Voted("n2", 4)
	s.Greeted("n2", "x")
	if seen := s.Of("n2", "x"); seen.Promised != 4 {
		t.Errorf("the vote is forgotten: %+v", seen)
	}
	s.Greeted("n2", "y")
	s.Voted("n2", 5)
	if seen := s.Of("n2", "y"); seen.Promised != 5 {
		t.Errorf("the vote of the new directory is not remembered: %+v", seen)
	}
	if before := s.Met("n2", Observation{Incarnation: "y"}, 1); before.Promised != 5 {
		t.Errorf("it is told %+v", before)
	}
}

// The file keeps what was seen of members; one that is damaged is replaced.
func TestObservationsAreKept(t *testing.T) {
	s := observations(t)
	seen := Observation{Incarnation: "x", Index: 3, Term: 2, Promised: 2}
	for _, id := range []string{"n2", "n3"} {
		s.Met(id, seen, 1)
	}
	s.noteDoubt("n3", true)
	s.Keep([]string{"n2"})
	if s.Start("n2") == (Start{}) || s.Start("n3") != (Start{}) || s.InDoubt("n3") {
		t.Errorf("of the starts, %+v and %+v are remembered; n3 in doubt: %v", s.Start("n2"), s.Start("n3"),
			s.InDoubt("n3"))
	}
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	again, err := Open(s.path, log)
	if err != nil || again.Last("n2") != seen || again.Last("n3") != (Observation{}) {
		t.Errorf("after a restart: %+v, %+v, %v", again.Last("n2"), again.Last("n3"), err)
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(s.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err = Open(s.path, log); err != nil || again.Last("n2") != (Observation{}) {
		t.Errorf("a damaged file: %+v, %v", again.Last("n2"), err)
	}
}
