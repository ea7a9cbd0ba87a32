package propose

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// forwards are the other nodes as a Forwarder sees them: what it sends is kept until the test answers.
type forwards struct {
	mu      sync.Mutex
	leader  string
	changed chan struct{}
	sent    []forwarded
}

type forwarded struct {
	to string
	Forwarded
	answer func([]fsm.Outcome, *Failure)
}

func (p *forwards) Leader() (string, uint64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leader, 0, p.changed
}

func (p *forwards) Forward(to string, b Forwarded, answered func([]fsm.Outcome, *Failure)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, forwarded{to, b, answered})
}

// turnTo makes another node the leader.
func (p *forwards) turnTo(leader string) {
	p.mu.Lock()
	close(p.changed)
	p.leader, p.changed = leader, make(chan struct{})
	p.mu.Unlock()
	synctest.Wait()
}

// news returns what was sent since the last time: to which node, in which session and place, which calls.
func (p *forwards) news() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, f := range p.sent {
		text := fmt.Sprintf("%s %d.%d:", f.to, f.Session, f.Place)
		for _, c := range f.Commands {
			text += fmt.Sprint(" ", c.Number)
		}
		out = append(out, text)
	}
	p.sent = nil
	return out
}

// forwarding runs a Forwarder that sends two calls in a batch, and two batches at a time.
func forwarding(t *testing.T, space Space, test func(*callTable, *forwards, *Forwarder)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallTable(t)
		bounds := testBounds()
		bounds.EntryCommands, bounds.ForwardDepth = 2, 2
		p := &forwards{changed: make(chan struct{})}
		f := NewForwarder(bounds, c.Calls, p, space)
		c.waiting = f.Wake
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		test(c, p, f)
		cancel()
		<-ended
	})
}

func expect(t *testing.T, p *forwards, want ...string) {
	t.Helper()
	if got := p.news(); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// Batches have places in order; a failure ends the session, and the next one begins with the first unresolved call.
func TestForwarderSessions(t *testing.T) {
	forwarding(t, roomy{}, func(c *callTable, p *forwards, f *Forwarder) {
		calls := c.add(7)
		expect(t, p)
		p.turnTo("n2")
		sent := p.sent
		expect(t, p, "n2 1.0: 1 2", "n2 1.1: 3 4")
		sent[0].answer(ok(1, 2), nil)
		synctest.Wait()
		third := p.sent[0]
		expect(t, p, "n2 1.2: 5 6")
		c.want(calls, -1, -1, -2, -2, -2, -2, -2)
		sent[1].answer(nil, NotLeader())
		expect(t, p)
		third.answer(ok(5, 6), nil)
		expect(t, p)
		time.Sleep(15 * time.Millisecond)
		again := p.news()
		if !slices.Equal(again, []string{"n2 2.0: 3 4", "n2 2.1: 7"}) {
			t.Errorf("sent %q again", again)
		}
		p.turnTo("n3")
		expect(t, p, "n3 3.0: 3 4", "n3 3.1: 7")
		p.turnTo("")
		c.add(1)
		expect(t, p)
		p.turnTo("n2")
		expect(t, p, "n2 4.0: 3 4", "n2 4.1: 7 8")
		if s := f.Stats(); s.Batches != 9 || s.Calls != 16 || s.Resets != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// A session that has failed is over, whatever comes of the batches that were on their way.
func TestSuccessDoesNotMendASession(t *testing.T) {
	c := newCallTable(t)
	p := &forwards{leader: "n2"}
	s := &outSession{Forwarder: NewForwarder(testBounds(), c.Calls, p, roomy{}), id: 1, leader: "n2", gen: c.gen}
	c.add(2)
	for range 2 {
		b, _ := c.took(c.gen, 1)
		s.send(b)
	}
	p.sent[0].answer(nil, NotLeader())
	p.sent[1].answer(ok(2), nil)
	if !s.ended() || s.more() {
		t.Error("a session goes on behind a batch that failed")
	}
}

// Which failures are told to callers, and which leave their calls to the next attempt.
func TestForwarderFailures(t *testing.T) {
	for _, c := range []struct {
		what    string
		f       Failure
		now     int // the outcome at once; -2: none
		at      int // when the time is over
		exposed bool
	}{
		{"not the leader", *NotLeader(), -2, int(turn.Unavailable), false},
		{"overloaded", Failure{true, turn.Errorf(turn.Overloaded, "full")}, int(turn.Overloaded), int(turn.Overloaded),
			false},
		{"lost", Failure{false, turn.Errorf(turn.Unavailable, "cut")}, -2, int(turn.Unknown), true},
		{"lost and overloaded", Failure{false, turn.Errorf(turn.Overloaded, "cut")}, -2, int(turn.Unknown), true},
	} {
		forwarding(t, roomy{}, func(table *callTable, p *forwards, _ *Forwarder) {
			calls := table.add(1)
			p.turnTo("n2")
			sent := p.sent
			p.turnTo("")
			sent[0].answer(nil, &c.f)
			synctest.Wait()
			if got := ended(calls[0]); got != c.now || calls[0].exposed != c.exposed {
				t.Errorf("%s: outcome %d, exposed %v", c.what, got, calls[0].exposed)
			}
			table.now = table.now.Add(time.Hour)
			table.Sweep()
			if got := ended(calls[0]); got != c.at {
				t.Errorf("%s: outcome %d in the end, want %d", c.what, got, c.at)
			}
		})
	}
}

// fullDisk is a node that hears of a full disk, and admits what frees space: here, calls with even numbers.
type fullDisk struct{ why *turn.Error }

func (d *fullDisk) Refusal() *turn.Error        { return d.why }
func (d *fullDisk) RefusalOf(int) *turn.Error   { return d.why }
func (d *fullDisk) Admits(c codec.Command) bool { return c.Number%2 == 0 }
func (d *fullDisk) Hear(why *turn.Error)        { d.why = why }

// A leader with a full disk refuses the calls that need space, and those beside them that free some are sent again.
func TestForwarderAndAFullDisk(t *testing.T) {
	disk := new(fullDisk)
	forwarding(t, disk, func(c *callTable, p *forwards, _ *Forwarder) {
		calls := c.add(2)
		p.turnTo("n2")
		sent := p.sent
		expect(t, p, "n2 1.0: 1 2")
		sent[0].answer(nil, &Failure{true, turn.Errorf(turn.ReadOnly, "full")})
		synctest.Wait()
		c.want(calls, int(turn.ReadOnly), -2)
		time.Sleep(15 * time.Millisecond)
		expect(t, p, "n2 2.0: 2")
	})
}

// On a full disk the leader refuses those of its own calls that need space, and each batch of others that holds one.
func TestProposerAndAFullDisk(t *testing.T) {
	disk := &fullDisk{turn.Errorf(turn.ReadOnly, "full")}
	c := newCallTable(t)
	p := NewProposer(testBounds(), c.Calls, disk, 9)
	calls := c.add(5)
	out := p.gatherLocked(&Term{gen: c.gen})
	if out == nil || len(out.commands) != 2 || out.bytes != 16 {
		t.Fatalf("an entry of %+v", out)
	}
	c.want(calls, int(turn.ReadOnly), -2, int(turn.ReadOnly), -2, int(turn.ReadOnly))
	log := &slowLog{released: make(chan struct{})}
	p.Begin(NewTerm(1, log, nil), &Batch{})
	for _, tt := range []struct {
		numbers  []uint64
		internal bool
		ok       bool
	}{{[]uint64{2}, false, true}, {[]uint64{2, 3}, false, false}, {[]uint64{3}, true, true}} {
		b := &Batch{internal: tt.internal}
		for _, n := range tt.numbers {
			b.Commands = append(b.Commands, codec.Command{Number: n})
		}
		if _, f := p.Offer(b, nil); (f == nil) != tt.ok || f != nil && (!f.Definite || f.Err.Kind != turn.ReadOnly) {
			t.Errorf("%v, internal %v: %v", tt.numbers, tt.internal, f)
		}
	}
}

// told is a log that tells outcomes at once.
type told struct {
	outs []fsm.Outcome
	f    *Failure
}

func (told) Leads(uint64) bool { return true }

func (l told) Propose(uint64, []byte) func() ([]fsm.Outcome, *Failure) {
	return func() ([]fsm.Outcome, *Failure) { return l.outs, l.f }
}

// Each batch of an entry gets its own outcomes. Where they are not known, none gets any, and the calls of this node
// stay open, exposed unless it is certain that nothing took place.
func TestEntriesAreSettled(t *testing.T) {
	for _, c := range []struct {
		what     string
		log      told
		definite bool
		ok       bool
	}{
		{"applied", told{outs: ok(1, 2, 3, 4)}, false, true},
		{"not the leader", told{f: NotLeader()}, true, false},
		{"lost", told{f: &Failure{false, turn.Errorf(turn.Unknown, "lost")}}, false, false},
		{"stopped amid", told{outs: ok(1, 2, 3)}, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			table := newCallTable(t)
			calls := table.add(1)
			p := NewProposer(testBounds(), table.Calls, roomy{}, 9)
			var got []string
			batch := func(n int) *Batch {
				return &Batch{Commands: commands(n), Bytes: n, Done: func(outs []fsm.Outcome, f *Failure) {
					text := fmt.Sprint("failed ", f != nil && f.Definite)
					if f == nil {
						text = "numbers"
					}
					for _, o := range outs {
						text += fmt.Sprint(" ", o.Number)
					}
					got = append(got, text)
				}}
			}
			term := NewTerm(1, c.log, func() int64 { return 1 })
			p.Begin(term, batch(1))
			p.Offer(batch(2), nil)
			p.step()
			synctest.Wait()
			want := []string{"numbers 1", "numbers 2 3"}
			if !c.ok {
				want = []string{fmt.Sprint("failed ", c.definite), fmt.Sprint("failed ", c.definite)}
			}
			if !slices.Equal(got, want) || term.Ended() == c.ok {
				t.Errorf("%s: %q, the term has ended: %v", c.what, got, term.Ended())
			}
			if p.flight != 0 || p.entering != nil {
				t.Errorf("%s: %d entries are in flight, one is on its way: %v", c.what, p.flight, p.entering != nil)
			}
			if inFlight := calls[0].attempt != 0; ended(calls[0]) != -2 || inFlight != c.ok ||
				calls[0].exposed == (c.ok || c.definite) {
				t.Errorf("%s: call in flight %v, exposed %v", c.what, inFlight, calls[0].exposed)
			}
		})
	}
}

// While the proposer is held, nothing is proposed, and Hold waits for what is in flight.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &slowLog{released: make(chan struct{})}
		c := newCallTable(t)
		p := leads(t, log, c.Calls)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Hold(ctx); err == nil {
			t.Error("an entry in flight is not waited for")
		}
		p.bounds.Overlap = 1
		c.add(1)
		if !p.step() {
			t.Error("a failed Hold goes on holding")
		}
		p.Placed()
		close(log.released)
		release, err := p.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.Begin(NewTerm(2, told{}, func() int64 { return 1 }), &Batch{Commands: commands(1),
			Done: func([]fsm.Outcome, *Failure) {}})
		if p.step() {
			t.Error("an entry is proposed meanwhile")
		}
		release()
		if !p.step() {
			t.Error("nothing is proposed afterwards")
		}
		synctest.Wait()
	})
}
