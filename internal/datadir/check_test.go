package datadir

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// An older copy that knows no other member is refused once others have told of it. One that knows others, or no
// member at all, waits for what it lacks, and so does a node whose log was damaged.
func TestOlderCopyThatKnowsNoOtherMember(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	d, err := Open(Config{Path: t.TempDir(), NodeID: "n1", Failure: NewFailure(log), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	servers := func(ids ...string) (list []raft.Server) {
		for _, id := range ids {
			list = append(list, raft.Server{ID: raft.ServerID(id)})
		}
		return list
	}
	check := func(when string, refused bool, known ...string) {
		t.Helper()
		err := d.CheckCopy(servers(known...))
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), Reseed) {
			t.Errorf("%s, it knows %v: %v", when, known, err)
		}
	}
	check("nothing is lost", false, "n1")
	had := raftlog.Position{Index: 7, Term: 3}
	if err := d.Mark.NoteLoss(raftlog.Loss{Had: had}); err != nil {
		t.Fatal(err)
	}
	check("after damage", false, "n1")
	if err := d.Mark.NoteLoss(raftlog.Loss{Had: had, Doubt: 3, Restored: true}); err != nil {
		t.Fatal(err)
	}
	check("an older copy", true, "n1")
	check("an older copy", false)
	check("an older copy", false, "n2")
	check("an older copy", false, "n1", "n2")
}

// What the only voter has in its log is committed, whether or not its state includes it. A leader that wants it
// replaced is not obeyed: an older copy of the node may have led alone.
func TestLogOfTheOnlyVoterIsCommitted(t *testing.T) {
	for name, tt := range map[string]struct {
		servers []raft.Server
		stops   bool
	}{
		"alone":                 {[]raft.Server{{ID: "n1"}}, true},
		"beside a learner":      {[]raft.Server{{ID: "n1"}, {ID: "n2", Suffrage: raft.Nonvoter}}, true},
		"one of two voters":     {[]raft.Server{{ID: "n1"}, {ID: "n2"}}, false},
		"the other voter's":     {[]raft.Server{{ID: "n2"}, {ID: "n1", Suffrage: raft.Nonvoter}}, false},
		"no member of anything": {nil, false},
	} {
		log := slog.New(slog.DiscardHandler)
		failure := NewFailure(log)
		d, err := Open(Config{Path: t.TempDir(), NodeID: "n1", Failure: failure, Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Log.StoreLogs([]*raft.Log{{Index: 1, Term: 1}, {Index: 2, Term: 1}}); err != nil {
			t.Fatal(err)
		}
		d.NoteAlone(tt.servers)
		done := make(chan struct{})
		go func() { // a halt ends the goroutine
			defer close(done)
			_ = d.Log.DeleteRange(2, 2)
		}()
		<-done
		if why := failure.Reason(); errors.Is(why, raftlog.ErrCommittedCut) != tt.stops {
			t.Errorf("%s: the node stops: %v", name, why)
		}
	}
}

// A version number without a checksum may be damaged, too.
func TestNewerMayBeDamage(t *testing.T) {
	err := beyondRepair(turn.Errorf(turn.Newer, "the block file has version 9"))
	if !turn.Is(err, turn.Newer) || !strings.Contains(err.Error(), Reseed) {
		t.Error(err)
	}
}
