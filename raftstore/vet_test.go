package raftstore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/levels"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// poison is what another node might forward that would end every state machine, or
// that is not its to propose.
func poison(t testing.TB) map[string][]byte {
	encoded := func(op turn.Op) []byte {
		b, err := codec.EncodeOp(op)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	long := appendOp(strings.Repeat("k", 40_000), "x") // longer than the state file's keys
	tx := encoded(&turn.Tx{Steps: []turn.Step{{Op: &turn.AddInt{Key: key("n")}}}})
	return map[string][]byte{
		"nothing":         {},
		"no array":        []byte("hello"),
		"an unknown kind": {0x91, 0xcc, 0xf0},
		"an unknown field": append([]byte{encoded(appendOp("s", "x"))[0] + 1},
			append(encoded(appendOp("s", "x"))[1:], 1)...),
		"half an operation":              tx[:len(tx)-2],
		"a key that cannot be stored":    encoded(long),
		"no messages":                    encoded(&turn.Append{Key: key("s")}),
		"an internal operation":          encoded(&codec.Member{ID: "n1", Remove: true}),
		"another":                        encoded(&codec.SetLevel{Level: 1 << 40}),
		"an internal step":               encoded(&turn.Tx{Steps: []turn.Step{{Op: &codec.SetLevel{Level: 1 << 40}}}}),
		"a bound that is not a bound":    encoded(&turn.Erase{Namespace: "0", Limit: 1 << 40}),
		"a namespace with another's NUL": encoded(&turn.Clear{Key: turn.Key{Namespace: "0\x00", Name: "s"}}),
	}
}

// What another node forwards is refused if it cannot be applied, and what it forwards
// beside it takes place: every state machine would stop by it otherwise, at each start.
func TestPoisonIsNotProposed(t *testing.T) {
	c := newCluster(t, 3, patient) // a batch is for one leader, whatever the load of the machine
	defer c.killAll()              // patient nodes do not hand over
	leader, f := c.elect("n1"), c.nodes["n2"]
	eventuallyTrue(t, "the leader takes batches",
		func() bool { return f.net.Connected("n1") && leader.writes.proposer.Current() != nil })
	session := uint64(1 << 40) // beyond those of the node's own forwarder
	const origin = 77
	number := uint64(0)
	for name, op := range poison(t) {
		good, err := codec.EncodeOp(appendOp(name, "x"))
		if err != nil {
			t.Fatal(err)
		}
		session++
		commands := []codec.Command{{Origin: origin, Number: number + 1, Op: good},
			{Origin: origin, Number: number + 2, Op: op}, {Origin: origin, Number: number + 3, Op: good}}
		number += 3
		for range 2 { // alone, too
			batch := propose.Forwarded{Origin: f.writes.calls.Origin(), Session: session, Commands: commands}
			answered := make(chan []fsm.Outcome, 1)
			f.peers.Forward(leader.id, batch, func(outs []fsm.Outcome, failed *propose.Failure) {
				if failed != nil {
					t.Errorf("%s: %v", name, failed.Err)
				}
				answered <- outs
			})
			outs := <-answered
			session++
			wantOutcomes(t, name, commands, op, outs)
			commands = commands[1:2]
		}
		if got := texts(t, leader, name, turn.Linearizable); len(got) != 2 {
			t.Errorf("%s: %d of two messages beside it were appended", name, len(got))
		}
	}
	c.sameState()
	c.killAll()
	for _, id := range ids(3) {
		c.start(id)
	}
	put(t, c.elect("n1"), "s", "after a restart")
}

// wantOutcomes sees that each command was answered, and op alone refused, and said not to have been proposed.
func wantOutcomes(t *testing.T, name string, commands []codec.Command, op []byte, outs []fsm.Outcome) {
	t.Helper()
	if len(outs) != len(commands)+1 {
		t.Errorf("%s: %d answers to %d commands, one of them not proposed", name, len(outs), len(commands))
	}
	byNumber, unproposed := map[uint64]fsm.Outcome{}, uint64(0)
	for _, o := range outs {
		if o.Origin == 0 {
			unproposed = o.Number
		} else {
			byNumber[o.Number] = o
		}
	}
	for _, cmd := range commands {
		o, poisonous := byNumber[cmd.Number], bytes.Equal(cmd.Op, op)
		switch {
		case o.Origin != cmd.Origin:
			t.Errorf("%s: a command was not answered", name)
		case poisonous != (o.Number == unproposed):
			t.Errorf("%s: command %d of %d is said not to have been proposed", name, unproposed, cmd.Number)
		case poisonous && (o.Err == nil || o.Err.Kind != turn.Invalid && o.Err.Kind != turn.TooLarge):
			t.Errorf("%s was proposed: %+v", name, o)
		case !poisonous && o.Err != nil:
			t.Errorf("%s: what stands beside it is refused: %v", name, o.Err)
		}
	}
}

// A batch that the cluster is not ready for is refused whole, and may be sent again.
func TestBatchAboveTheLevelIsRefused(t *testing.T) {
	c := newCluster(t, 1, holdsLevel0)
	n1 := c.leader()
	if err := n1.levels.Check(turn.Level1); err == nil || err.Kind != turn.Unavailable ||
		!strings.Contains(err.Message, "cluster level 1") {
		t.Errorf("above the level: %v", err)
	}
	if err := n1.levels.Check(turn.Level0); err != nil {
		t.Error(err)
	}
	ready := false
	in := propose.NewInbox(n1.writes.proposer, func(cs []codec.Command) (propose.Vetted, *propose.Failure) {
		if !ready {
			return propose.Vetted{}, propose.Definite(n1.levels.Check(turn.Level1))
		}
		return propose.Vetted{Fit: cs}, nil
	})
	op, err := codec.EncodeOp(appendOp("s", "x"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(session uint64) *propose.Failure {
		failures := make(chan *propose.Failure, 1)
		batch := propose.Forwarded{Origin: 7, Session: session,
			Commands: []codec.Command{{Origin: 7, Number: 1, Op: op}}}
		in.Take("n2", batch, len(op), func(_ []fsm.Outcome, f *propose.Failure) { failures <- f })
		return <-failures
	}
	if f := ask(1); f == nil || !f.Definite || f.Err.Kind != turn.Unavailable {
		t.Errorf("it is answered with %+v", f)
	}
	if got := texts(t, n1, "s", turn.Linearizable); len(got) != 0 {
		t.Errorf("%q was appended", got)
	}
	ready = true
	if f := ask(2); f != nil {
		t.Errorf("sent again, it is refused: %v", f.Err)
	}
	if got := texts(t, n1, "s", turn.Linearizable); len(got) != 1 {
		t.Errorf("%q was appended", got)
	}
}

// anyLevel takes operations of all levels.
func anyLevel() *levels.Levels {
	return levels.New(levels.Config{Limits: turn.DefaultLimits(), Logger: testLogger(),
		Level: func() turn.ClusterLevel { return turn.NewestLevel }})
}

// FuzzVet: what is fit for the log is applied, by a state machine that goes on, on
// disk, too.
func FuzzVet(f *testing.F) {
	for _, op := range poison(f) {
		f.Add(op)
	}
	for _, op := range []turn.Op{appendOp("s", "x", "y"), &turn.Pop{Key: key("s"), Count: 1},
		&turn.Trim{Key: key("s"), By: turn.ListRange, Stop: -1},
		&turn.SetFields{Key: key("h"), Type: turn.TypeHash, Fields: []turn.Field{{Name: "f"}}},
		&turn.SetElement{Key: key("s"), Index: -1},
		&turn.Tx{All: true, ID: "t", Steps: []turn.Step{{Op: &turn.Pop{Key: key("s"), Count: 1}},
			{Op: appendOp("d", "x", "y")},
			{Op: &turn.Retain{Key: key("d"), Keep: turn.Retention{Messages: 1}}}}},
		&turn.Tx{All: true, Steps: []turn.Step{
			{Op: &turn.RemoveMessage{Key: key("s"), Message: turn.MessageRef{Seq: 1}}},
			{Op: &turn.Append{Key: key("s"), Messages: []turn.NewMessage{{Data: []byte("x")}}}},
			{Op: &turn.Replace{Key: key("s"), From: 1}}}},
		&turn.Tx{All: true, ID: "t", Conditions: []turn.Condition{{Key: key("b"), Is: turn.Absent}},
			Steps: []turn.Step{{Op: &turn.Rename{Key: key("s"), To: key("b")}}}}} {
		b, err := codec.EncodeOp(op)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	l := anyLevel()
	f.Fuzz(func(t *testing.T, op []byte) {
		if v, f := l.Vet([]codec.Command{{Op: op}}); f != nil || len(v.Refused) > 0 {
			return
		}
		m, err := fsm.Open(fsm.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		m.Apply(1, 1, codec.AppendEntry(nil, 1, []codec.Command{{Op: op}}))
		if err := m.Flush(t.Context()); err != nil {
			t.Errorf("%x ends the machine: %v", op, err)
		}
	})
}
