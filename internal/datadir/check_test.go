package datadir

import (
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

// A version number without a checksum may be damaged, too.
func TestNewerMayBeDamage(t *testing.T) {
	err := beyondRepair(turn.Errorf(turn.Newer, "the block file has version 9"))
	if !turn.Is(err, turn.Newer) || !strings.Contains(err.Error(), Reseed) {
		t.Error(err)
	}
}
