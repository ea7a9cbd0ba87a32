package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Condition is what a transaction of several steps demands of a session before the first of them.
type Condition struct {
	Session string
	// Version is that of the state in which the session has to be; empty: it must not exist.
	Version string
}

// StepKind is what a Step does.
type StepKind string

const (
	StepSave    StepKind = "save"    // Turn is saved at the end
	StepPop     StepKind = "pop"     // the N newest messages are removed, and returned
	StepEdit    StepKind = "edit"    // the message with the id of Turn's only one gets that one's content
	StepRemove  StepKind = "remove"  // the message with ID is removed
	StepReplace StepKind = "replace" // Turn is saved in place of message N and those behind it
	StepKeep    StepKind = "keep"    // the session keeps its N newest messages from here on
	StepRename  StepKind = "rename"  // the session is To from here on, which does not exist
	StepDelete  StepKind = "delete"  // the session is gone
)

// Step is one of the changes of a transaction. Those that take messages out of a session, or edit one, come
// before those that add some to it. The sessions of a rename are in no other step.
type Step struct {
	Do      StepKind
	Session string
	Turn    []Message
	ID      string
	// N is how many; of StepReplace, the number of a message, where 1 is the first that was ever saved in the session.
	N  int
	To string
}

// Stepper makes changes of any kind to several sessions at once.
type Stepper interface {
	// TransactSteps carries out all steps, in their order, or none, and returns the messages that were popped. It
	// returns ErrConflict, and changes nothing, if a condition does not hold, if a message to be edited or a session
	// to be renamed is not there, or if the id was used before for another transaction over the same sessions. The
	// same transaction under the same id changes nothing, and returns what it returned at first, whatever has become
	// of its sessions.
	TransactSteps(ctx context.Context, id string, conditions []Condition, steps ...Step) ([]Message, error)
}

var stepNeeds = []Capability{CanStep, CanCondition, HasIDs, HasLateIDs}

var stepCases = []Case{
	{Name: "steps", Incident: I1, Needs: stepNeeds, run: probing(stepsTakePlace),
		Proves: "A transaction that pops, edits, removes, replaces, shortens, renames and saves is there whole, " +
			"through every handle."},
	{Name: "steps-refused", Incident: I5, Needs: stepNeeds, run: probing(stepsRefused),
		Proves: "If one of several conditions or steps of a transaction does not hold, no step takes place."},
	{Name: "steps-retried", Incident: I3, Needs: stepNeeds, run: probing(stepsRetried),
		Proves: "A transaction of several steps that is sent again under its id changes nothing and is answered as " +
			"the first time, also when its sessions were changed, renamed or deleted since; another under that id is " +
			"refused."},
	{Name: "steps-reply-lost", Incident: I3, Needs: append([]Capability{HasLine}, stepNeeds...),
		run:    probing(stepsReplyLost),
		Proves: "A transaction of several steps whose answer was lost has taken place once after the caller's retry."},
	{Name: "moves-at-once", Incident: I1, Needs: stepNeeds, run: probing(movesAtOnce), long: true,
		Proves: "Of messages that many workers move from one session to another at once, each arrives once, and none " +
			"is lost."},
}

// stepProbe carries out transactions of several steps.
type stepProbe struct{ *probe }

func (p stepProbe) steps(s Store, id string, conditions []Condition, steps ...Step) ([]Message, error) {
	ctx, cancel := p.op()
	defer cancel()
	own := p.script(fmt.Sprint(p.c.Name, p.attempt, id)).token // of this case
	return s.(Stepper).TransactSteps(ctx, own+"-"+id, conditions, steps...)
}

// scene is six sessions, what they hold, and a transaction over all of them.
type scene struct {
	p          stepProbe
	names      []string // a to f, and g, which does not exist
	held       map[string][]Message
	conditions []Condition
	steps      []Step
	after      map[string][]Message // what they are to hold then
	popped     []Message
}

// scene fills six sessions with four messages each.
func (p stepProbe) scene() (*scene, error) {
	x := &scene{p: p, held: map[string][]Message{}, after: map[string][]Message{}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		s := p.session(name)
		x.names = append(x.names, s)
		if name == "g" {
			break
		}
		var err error
		if x.held[s], err = p.filled(s, 4); err != nil {
			return nil, err
		}
		x.after[s] = slices.Clone(x.held[s])
	}
	a, b, c, d, e, f, g := x.names[0], x.names[1], x.names[2], x.names[3], x.names[4], x.names[5], x.names[6]
	for _, s := range []string{a, f} {
		version, err := p.versionOf(s)
		if err != nil {
			return nil, err
		}
		x.conditions = append(x.conditions, Condition{s, version})
	}
	x.conditions = append(x.conditions, Condition{Session: g})
	moved := x.held[a][2:]
	x.popped = []Message{moved[1], moved[0]}
	newEdit, instead := edited(x.held[c][1], "edited"), p.turn(d, 2, 1, 2)
	x.steps = []Step{
		{Do: StepPop, Session: a, N: 2},
		{Do: StepSave, Session: b, Turn: inSession(moved, "moved")},
		{Do: StepEdit, Session: c, Turn: []Message{newEdit}},
		{Do: StepRemove, Session: c, ID: x.held[c][3].ID},
		{Do: StepReplace, Session: d, N: 3, Turn: instead},
		{Do: StepKeep, Session: e, N: 3},
		{Do: StepRename, Session: f, To: g},
		{Do: StepSave, Session: a, Turn: p.turn(a, 2, 1, 1)},
	}
	x.after[a] = append(x.held[a][:2:2], p.turn(a, 2, 1, 1)...)
	x.after[b] = append(x.held[b][:4:4], moved...)
	x.after[c] = []Message{x.held[c][0], newEdit, x.held[c][2]}
	x.after[d] = append(x.held[d][:2:2], instead...)
	x.after[e] = x.held[e][1:]
	x.after[g], x.after[f] = x.held[f], nil
	return x, nil
}

// inSession returns messages with ids that no session knows.
func inSession(ms []Message, suffix string) []Message {
	out := slices.Clone(ms)
	for i := range out {
		out[i].ID += suffix
	}
	return out
}

func (p stepProbe) versionOf(session string) (string, error) {
	_, version, err := conflictProbe(p).version(p.store, session)
	return version, err
}

// look compares all sessions with what they are to hold.
func (x *scene) look(s Store, want map[string][]Message) error {
	var errs []error
	for _, name := range x.names {
		errs = append(errs, x.p.exactly(s, name, want[name]))
	}
	return errors.Join(errs...)
}

// commit carries the transaction out and looks that it answers with what was popped.
func (x *scene) commit(s Store, id string) error {
	popped, err := x.p.steps(s, id, x.conditions, x.steps...)
	if err == nil {
		err = compare(popped, x.popped)
	}
	return err
}

func stepsTakePlace(p stepProbe) error {
	other, err := p.open()
	if err != nil {
		return err
	}
	x, err := p.scene()
	if err != nil {
		return err
	}
	if err := x.commit(p.store, "t"); err != nil {
		return err
	}
	if err := errors.Join(x.look(p.store, x.after), x.look(other, x.after)); err != nil {
		return err
	}
	// What a session keeps by itself it keeps.
	e := x.names[4]
	if err := p.add(p.store, e, 2, 1, 1); err != nil {
		return err
	}
	return p.exactly(other, e, append(x.after[e][1:], p.turn(e, 2, 1, 1)...))
}

func stepsRefused(p stepProbe) error {
	x, err := p.scene()
	if err != nil {
		return err
	}
	b, unknown := x.names[1], p.turn(x.names[2], 9, 1, 1)
	old, err := p.versionOf(b)
	if err != nil {
		return err
	}
	if err := p.add(p.store, b, 3, 1, 1); err != nil {
		return err
	}
	x.held[b] = append(x.held[b], p.turn(b, 3, 1, 1)...)
	for i := range len(x.conditions) + 1 {
		bad := *x
		bad.conditions = slices.Insert(slices.Clone(x.conditions), i, Condition{b, old})
		if err := bad.refused(fmt.Sprint("version", i), "a condition on a state that has changed"); err != nil {
			return err
		}
		bad.conditions[i] = Condition{Session: b}
		if err := bad.refused(fmt.Sprint("absent", i), "a condition that a session does not exist"); err != nil {
			return err
		}
	}
	for i := range len(x.steps) + 1 {
		bad := *x
		bad.steps = slices.Insert(slices.Clone(x.steps), i, Step{Do: StepEdit, Session: x.names[2], Turn: unknown})
		if err := bad.refused(fmt.Sprint("edit", i), "the edit of a message that is not there"); err != nil {
			return err
		}
	}
	bad := *x
	bad.steps = append(slices.Clone(x.steps), Step{Do: StepRename, Session: p.session("none"), To: p.session("h")})
	return bad.refused("rename", "the renaming of a session that does not exist")
}

// refused looks that the transaction is refused and changes nothing.
func (x *scene) refused(id, what string) error {
	if err := x.commit(x.p.store, id); !errors.Is(err, ErrConflict) {
		return fmt.Errorf("a transaction with %s: %v instead of a conflict", what, err)
	}
	if err := x.look(x.p.store, x.held); err != nil {
		return fmt.Errorf("after a transaction with %s: %w", what, err)
	}
	return nil
}

func stepsRetried(p stepProbe) error {
	other, err := p.open()
	if err != nil {
		return err
	}
	x, err := p.scene()
	if err != nil {
		return err
	}
	sent := func(s Store, when string) error {
		err := x.commit(s, "t")
		if err == nil {
			err = x.look(p.store, x.after)
		}
		if err != nil {
			return fmt.Errorf("sent %s: %w", when, err)
		}
		return nil
	}
	for i, s := range []Store{p.store, p.store, other} {
		if err := sent(s, fmt.Sprintf("for the %d. time", i+1)); err != nil {
			return err
		}
	}
	a, b, g, h := x.names[0], x.names[1], x.names[6], p.session("h")
	for i, change := range []Step{{Do: StepPop, Session: a, N: 1}, {Do: StepRename, Session: g, To: h},
		{Do: StepDelete, Session: b}} {
		if _, err := p.steps(p.store, fmt.Sprint("change", i), nil, change); err != nil {
			return fmt.Errorf("%s: %w", change.Do, err)
		}
		switch change.Do {
		case StepPop:
			x.after[a] = x.after[a][:len(x.after[a])-1]
		case StepRename:
			x.after[h], x.after[g] = x.after[g], nil
			x.names = append(x.names, h)
		default:
			x.after[b] = nil
		}
		if err := sent(other, fmt.Sprintf("again after a %s", change.Do)); err != nil {
			return err
		}
	}
	changed := *x
	changed.steps = slices.Clone(x.steps)
	changed.steps[0].N = 1
	if err := changed.commit(p.store, "t"); !errors.Is(err, ErrConflict) {
		return fmt.Errorf("another transaction under the same id: %v instead of a conflict", err)
	}
	return x.look(p.store, x.after)
}

// stepsReplyLost sends transactions over a line on which answers get lost, each until it is answered.
func stepsReplyLost(p stepProbe) error {
	line, h, err := faultProbe(p).line()
	if err != nil {
		return err
	}
	from, to := p.session("from"), p.session("to")
	all, err := p.filled(from, 6)
	if err != nil {
		return err
	}
	var arrived []Message
	for i := range all {
		last := len(all) - 1 - i
		steps := []Step{{Do: StepPop, Session: from, N: 1},
			{Do: StepSave, Session: to, Turn: inSession(all[last:last+1], "moved")}}
		version, err := p.versionOf(from)
		if err != nil {
			return err
		}
		line.Break(Fault{Break: []Break{CutAfter, CutBefore}[i%2], Times: 1})
		popped, err := p.untilAnswered(line, &h, fmt.Sprint("t", i), []Condition{{from, version}}, steps)
		line.Heal()
		if err == nil {
			err = compare(popped, all[last:last+1])
		}
		arrived = append(arrived, all[last])
		if err := errors.Join(err, p.exactly(p.store, from, all[:last]), p.exactly(p.store, to, arrived)); err != nil {
			return fmt.Errorf("transaction %d, of which a request or an answer was lost: %w", i+1, err)
		}
	}
	return nil
}

// untilAnswered sends a transaction until it is answered; the handle is replaced when a call fails.
func (p stepProbe) untilAnswered(line Line, h *Store, id string, conditions []Condition, steps []Step) (
	popped []Message, err error,
) {
	for range 10 {
		popped, err = p.steps(*h, id, conditions, steps...)
		if err == nil || errors.Is(err, ErrConflict) {
			return popped, err
		}
		var opened error
		if *h, opened = faultProbe(p).openedOn(line); opened != nil {
			return nil, opened
		}
		pause(p.ctx, 10*time.Millisecond)
	}
	return nil, fmt.Errorf("not answered in 10 attempts: %w", err)
}

func movesAtOnce(p stepProbe) error {
	from, to := p.session("from"), p.session("to")
	all, err := p.filled(from, 3*p.Writers)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	taken := map[string]int{} // by content
	err = together(p.Writers, func(w int) error {
		h, err := p.open()
		for n := 0; err == nil; n++ {
			var popped []Message
			if popped, err = p.moveOne(h, fmt.Sprintf("t%d-%d", w, n), from, to); len(popped) == 0 && err == nil {
				return nil
			}
			mu.Lock()
			for _, m := range popped {
				taken[m.Content]++
			}
			mu.Unlock()
			if errors.Is(err, ErrConflict) {
				err = nil
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	arrived, err := p.load(p.store, to)
	if err != nil {
		return err
	}
	there := map[string]int{}
	for _, m := range arrived {
		there[m.Content]++
	}
	for _, m := range all {
		switch {
		case there[m.Content] == 0:
			return fmt.Errorf("lost: %s was moved, and has not arrived", m)
		case there[m.Content] > 1:
			return fmt.Errorf("doubled: %s has arrived %d times", m, there[m.Content])
		case taken[m.Content] != 1:
			return fmt.Errorf("%d workers were told that they had moved %s", taken[m.Content], m)
		}
	}
	return p.exactly(p.store, from, nil)
}

// moveOne moves the newest message of a session to another. It returns none if there is none.
func (p stepProbe) moveOne(h Store, id, from, to string) ([]Message, error) {
	ms, version, err := conflictProbe(p).version(h, from)
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	return p.steps(h, id, []Condition{{from, version}}, Step{Do: StepPop, Session: from, N: 1},
		Step{Do: StepSave, Session: to, Turn: inSession(ms[len(ms)-1:], "moved")})
}
