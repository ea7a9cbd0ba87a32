package ballot

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// asked is a ballot of a node that has asked the others.
func asked(mark *raftlog.HighWater) *Ballot {
	return &Ballot{cfg: Config{Mark: mark, Clock: time.Now}, began: true}
}

func openMark(t *testing.T, disk *simdisk.Disk) *raftlog.HighWater {
	t.Helper()
	h, err := raftlog.OpenHighWater(disk, "/data", "me", func(err error) { panic(err) }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// reachesRaft sends a message and returns whether Raft gets it.
func reachesRaft(b *Ballot, m any) bool {
	answers := make(chan raft.RPCResponse, 1)
	passed := !b.answer(raft.RPC{Command: m, RespChan: answers}, slog.New(slog.DiscardHandler))
	if passed == (len(answers) > 0) {
		panic("answered and passed on, or neither")
	}
	return passed
}

func TestBallot(t *testing.T) {
	vote := func(term, lastTerm, last uint64) any {
		return &raft.RequestVoteRequest{Term: term, LastLogTerm: lastTerm, LastLogIndex: last}
	}
	for name, c := range map[string]struct {
		loss    *raftlog.Loss
		message any
		passes  bool
	}{
		"healthy: vote":       {nil, vote(4, 1, 1), true},
		"healthy: a leader":   {nil, &raft.AppendEntriesRequest{Term: 1}, true},
		"healthy: a transfer": {nil, &raft.TimeoutNowRequest{}, true},
		"shorter: candidate with less": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			vote(4, 3, 9), false},
		"shorter: pre-vote": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			&raft.RequestPreVoteRequest{Term: 4, LastLogTerm: 3, LastLogIndex: 9}, false},
		"shorter: longer, of an older term": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			vote(4, 2, 90), false},
		"shorter: candidate with as much": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			vote(4, 3, 10), true},
		"shorter: a leader": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			&raft.AppendEntriesRequest{Term: 3}, true},
		"shorter: a transfer": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			&raft.TimeoutNowRequest{}, false},
		"older: candidate with as much": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(6, 3, 10), false},
		"older: candidate of the term": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(6, 4, 10), false},
		"older: candidate of a later one": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(6, 5, 1), true},
		"older: in the term of doubt": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(4, 9, 99), false},
		"older: a leader from before": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			&raft.AppendEntriesRequest{Term: 3}, false},
		"older: a leader": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			&raft.AppendEntriesRequest{Term: 4}, true},
	} {
		b := asked(openMark(t, simdisk.New()))
		b.cfg.Mark.Reached(raftlog.Position{Index: 8, Term: 3})
		if c.loss != nil {
			if err := b.cfg.Mark.NoteLoss(*c.loss); err != nil {
				t.Fatal(err)
			}
		}
		if got := reachesRaft(b, c.message); got != c.passes {
			t.Errorf("%s: it reaches Raft: %v, want %v", name, got, c.passes)
		}
	}
}

// The log has again what it lost when it reaches the mark; after an older copy, when it
// has an entry of a later term, or what the leader has that knows.
func TestLossEnds(t *testing.T) {
	for name, c := range map[string]struct {
		loss   raftlog.Loss
		end    raftlog.Position
		whole  bool
		stands bool
	}{
		"not yet": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			raftlog.Position{Index: 9, Term: 3}, false, false},
		"the mark": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			raftlog.Position{Index: 10, Term: 3}, true, true},
		"another leader": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			raftlog.Position{Index: 9, Term: 4}, true, true},
		"doubt: the mark": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 3},
			raftlog.Position{Index: 10, Term: 3}, false, false},
		"doubt: a later term": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 3},
			raftlog.Position{Index: 9, Term: 4}, true, true},
	} {
		disk := simdisk.New()
		h := openMark(t, disk)
		h.Reached(raftlog.Position{Index: 8, Term: 3})
		if err := h.NoteLoss(c.loss); err != nil {
			t.Fatal(err)
		}
		h.Reached(c.end)
		b := asked(h)
		if _, missing := h.Lost(); missing == c.whole || (b.Stands() == nil) != c.stands {
			t.Errorf("%s: missing %v, stands: %v", name, missing, b.Stands())
		}
		if l, missing := openMark(t, disk.Kill()).Lost(); missing != (l.Doubt > 0) || c.whole && missing {
			t.Errorf("%s, restarted: %v, %v", name, l, missing)
		}
	}
}

func TestNoVoteBeforeTheOthersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Mark: openMark(t, simdisk.New()), Clock: time.Now})
		vote := &raft.RequestVoteRequest{Term: 9, LastLogTerm: 9, LastLogIndex: 9}
		entries := &raft.AppendEntriesRequest{Term: 9, Entries: []*raft.Log{{Index: 10, Term: 9}}}
		for range 2 { // before it asks, too
			if reachesRaft(b, vote) || b.Stands() == nil || b.Ready() == nil {
				t.Error("a node votes before it has asked")
			}
			if reachesRaft(b, entries) || !reachesRaft(b, &raft.AppendEntriesRequest{Term: 9}) {
				t.Error("a node acknowledges entries before it has asked, or follows no leader")
			}
			b.Ask(time.Second)
		}
		time.Sleep(time.Second)
		if !reachesRaft(b, vote) || !reachesRaft(b, entries) || b.Stands() != nil {
			t.Error("a node waits for ever")
		}
		b.Ask(time.Second)
		b.Asked()
		if !reachesRaft(b, vote) {
			t.Error("a node waits for those who have answered")
		}
	})
}

// A term that others were in when this node started is over for it: it may have promised
// something in it, and have lost that with its data.
func TestTermsOfOthersAreOver(t *testing.T) {
	b := asked(openMark(t, simdisk.New()))
	b.Past(7)
	b.Past(5)
	for name, c := range map[string]struct {
		message any
		passes  bool
	}{
		"a vote in it":             {&raft.RequestVoteRequest{Term: 7}, false},
		"a vote before it":         {&raft.RequestVoteRequest{Term: 6}, false},
		"a vote after it":          {&raft.RequestVoteRequest{Term: 8}, true},
		"its leader":               {&raft.AppendEntriesRequest{Term: 7}, true},
		"the leader of an earlier": {&raft.AppendEntriesRequest{Term: 6}, false},
	} {
		if got := reachesRaft(b, c.message); got != c.passes {
			t.Errorf("%s reaches Raft: %v, want %v", name, got, c.passes)
		}
	}
}

// A candidate whose term is over for a node in doubt hears which one is, so that it need not
// come to it election by election.
func TestRefusedCandidateHearsTheTermOfDoubt(t *testing.T) {
	b := asked(openMark(t, simdisk.New()))
	if err := b.cfg.Mark.NoteLoss(raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4000}); err != nil {
		t.Fatal(err)
	}
	answers := make(chan raft.RPCResponse, 1)
	if !b.answer(raft.RPC{Command: &raft.RequestVoteRequest{Term: 4}, RespChan: answers},
		slog.New(slog.DiscardHandler)) {
		t.Fatal("Raft is to answer")
	}
	if r := (<-answers).Response.(*raft.RequestVoteResponse); r.Granted || r.Term != 4000 {
		t.Errorf("answer: %+v", r)
	}
	b.answer(raft.RPC{Command: &raft.AppendEntriesRequest{Term: 3999}, RespChan: answers},
		slog.New(slog.DiscardHandler))
	if r, ok := (<-answers).Response.(*raft.AppendEntriesResponse); !ok || r.Success || r.Term != 4000 {
		t.Errorf("answer to the leader of an earlier term: %+v", r)
	}
}

// Raft gets a candidate that it does not know in the place of one that it does, only if its
// log is ahead; all else is as the candidate says.
func TestCandidateThatIsNotKnown(t *testing.T) {
	voter := func(id raft.ServerID, s raft.ServerSuffrage) raft.Server { return raft.Server{ID: id, Suffrage: s} }
	three := []raft.Server{voter("n0", raft.Nonvoter), voter("n1", raft.Voter), voter("n2", raft.Voter)}
	ahead, level, longer := raftlog.Position{Index: 9, Term: 3}, raftlog.Position{Index: 8, Term: 3},
		raftlog.Position{Index: 900, Term: 2}
	for name, c := range map[string]struct {
		servers []raft.Server
		id      string
		end     raftlog.Position
		want    string
	}{
		"ahead":              {three, "n4", ahead, "n1"},
		"as far":             {three, "n4", level, "n4"},
		"longer, but older":  {three, "n4", longer, "n4"},
		"known":              {three, "n2", ahead, "n2"},
		"without a vote":     {three, "n0", ahead, "n1"},
		"no voter is known":  {nil, "n4", ahead, "n4"},
		"one voter is known": {three[1:2], "n4", ahead, "n1"},
		"without an id":      {three, "", ahead, ""},
	} {
		b := asked(openMark(t, simdisk.New()))
		b.cfg.Configuration = func() raft.Configuration { return raft.Configuration{Servers: c.servers} }
		b.cfg.Mark.Reached(level)
		header := raft.RPCHeader{ID: []byte(c.id), Addr: []byte("address")}
		vote := &raft.RequestVoteRequest{RPCHeader: header, Term: 4, LastLogIndex: c.end.Index, LastLogTerm: c.end.Term}
		pre := &raft.RequestPreVoteRequest{RPCHeader: header, Term: 4, LastLogIndex: c.end.Index,
			LastLogTerm: c.end.Term}
		if b.answer(raft.RPC{Command: vote}, slog.New(slog.DiscardHandler)) ||
			b.answer(raft.RPC{Command: pre}, slog.New(slog.DiscardHandler)) {
			t.Fatalf("%s: Raft is to answer", name)
		}
		if string(vote.ID) != c.want || string(pre.ID) != c.want || string(vote.Addr) != "address" ||
			string(pre.Addr) != "address" {
			t.Errorf("%s: Raft gets candidate %s, %s, want %s", name, vote.ID, pre.ID, c.want)
		}
	}
}
