package staterepair

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// member is a member of a cluster of two, with a state machine of its own.
type member struct {
	*Repairer
	other    *Repairer
	alone    bool
	behind   bool // its log does not have the entry that a state ends at
	repaired chan struct{}
	failed   error
}

func (m *member) Alone() bool                                  { return m.alone }
func (m *member) HandOver(context.Context)                     {}
func (m *member) Sources(context.Context) ([]Source, []string) { return []Source{{ID: "other"}}, nil }
func (m *member) Dropped() uint64                              { return 0 }
func (m *member) Last() uint64                                 { return 1 }
func (m *member) Has(raftlog.Position) (bool, error)           { return !m.behind, nil }
func (m *member) stream(d *fsm.Dump) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		defer d.Close()
		_, err := d.WriteTo(w)
		_ = w.CloseWithError(err)
	}()
	return r
}

func (m *member) Connect(ctx context.Context, _ Source) (net.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		m.other.Send(ctx, there, "this")
	}()
	return here, nil
}

func newMember(t *testing.T, dir string) *member {
	t.Helper()
	m := &member{repaired: make(chan struct{}, 1)}
	m.Repairer = New(Config{
		Dir: dir, Cluster: m, Log: m, Stream: m.stream,
		Resume:   func() bool { return m.state.Resume() },
		Repaired: func() { m.repaired <- struct{}{} },
		Fail:     func(err error) { m.failed = err }, Logger: slog.New(slog.DiscardHandler),
	})
	s, err := m.Open(fsm.Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, m.Alone)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel(errors.New("the test is over"))
		<-done
		_ = s.Close()
	})
	return m
}

// write applies an entry with an append.
func (m *member) write(t *testing.T, index uint64) {
	t.Helper()
	op, err := codec.EncodeOp(&turn.Append{Key: turn.Key{Namespace: "0", Name: "s"},
		Messages: []turn.NewMessage{{Data: []byte("x")}}})
	if err != nil {
		t.Fatal(err)
	}
	m.state.Apply(index, 1, codec.AppendEntry(nil, 0, []codec.Command{{Origin: 1, Number: index, Op: op}}))
}

func (m *member) messages(t *testing.T) int {
	t.Helper()
	r, err := m.state.Query(&turn.Read{Key: turn.Key{Namespace: "0", Name: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Messages)
}

// damagedPair is a member with a damaged state, and one whose state has three messages.
func damagedPair(t *testing.T) (damaged, whole *member) {
	whole = newMember(t, t.TempDir())
	damaged = newMember(t, t.TempDir())
	damaged.other, whole.other = whole.Repairer, damaged.Repairer
	for index := range uint64(3) {
		whole.write(t, index+1)
	}
	damaged.write(t, 1)
	damaged.state.Halt(turn.Errorf(turn.Corrupt, "as if"))
	return damaged, whole
}

// A damaged state is replaced by another member's, and nothing is left of the damage.
func TestDamagedStateIsReplaced(t *testing.T) {
	m, _ := damagedPair(t)
	m.runsUntilRepaired(t)
	m.whole(t)
}

// The leader's snapshot can replace the damaged state before a repair does: nothing is left of the damage then,
// either, and it counts as a repair.
func TestDamagedStateIsReplacedByASnapshot(t *testing.T) {
	m, source := damagedPair(t)
	damage, _ := m.state.Damage()
	err := errors.Join(noteDamage(m.cfg.Dir, damage), os.Mkdir(filepath.Join(m.cfg.Dir, AsideName), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	if err := source.state.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := source.state.Dump()
	if err != nil {
		t.Fatal(err)
	}
	snapshot := source.stream(d)
	defer snapshot.Close()
	if err := m.state.Restore(snapshot); err != nil {
		t.Fatal(err)
	}
	m.state.Resume()
	m.runsUntilRepaired(t)
	m.whole(t)
}

// runsUntilRepaired runs the repairer until it says that the state was replaced.
func (m *member) runsUntilRepaired(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	<-m.repaired
	cancel()
	<-done
}

// whole holds the member to the other's state, without a trace of its damage.
func (m *member) whole(t *testing.T) {
	t.Helper()
	if n := m.messages(t); n != 3 {
		t.Errorf("%d messages after the repair", n)
	}
	for _, name := range []string{DamageName, AsideName} {
		if _, err := os.Stat(filepath.Join(m.cfg.Dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// A halt for a repair that failed is not noted as damage for which the node serves nothing.
func TestHaltForARepairIsNotNoted(t *testing.T) {
	m := newMember(t, t.TempDir())
	m.other = newMember(t, t.TempDir()).Repairer
	m.state.Halt(nil)
	m.other.sends.Lock() // no state is sent
	damage := turn.Errorf(turn.Corrupt, "a block is damaged")
	if err := m.once(t.Context(), damage); err == nil {
		t.Fatal("a state was fetched")
	}
	if _, err := os.Stat(filepath.Join(m.cfg.Dir, DamageName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damage is noted: %v", err)
	}
	m.alone = true
	m.state.Halt(nil)
	if err := m.once(t.Context(), damage); err == nil || m.failed != nil {
		t.Errorf("the only member fails: %v, %v", m.failed, err)
	}
}

// A state that the log of the node does not lead to is not taken, nor one that is not sent.
func TestStatesThatAreNotTaken(t *testing.T) {
	for why, as := range map[string]func(m, other *member){
		"this node's log ends": func(m, _ *member) { m.behind = true },
		"damaged": func(_, other *member) {
			other.state.Halt(turn.Errorf(turn.Corrupt, "as if"))
		},
		"the state is being sent to another node": func(_, other *member) { other.sends.Lock() },
	} {
		m, other := damagedPair(t)
		as(m, other)
		ctx, cancel := context.WithTimeout(t.Context(), 2*repairPause)
		_, err := m.fetch(ctx, Source{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a state was taken, or %v", err)
		}
	}
}

// The only member has no other to fetch a state from, and stops if it cannot go on.
func TestOnlyMemberEndures(t *testing.T) {
	m, _ := damagedPair(t)
	m.alone = true
	if err := m.once(t.Context(), errors.New("as if")); err == nil || m.failed == nil {
		t.Errorf("it goes on, halted: %v, %v", err, m.failed)
	}
}
