package badstores

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// stepDefects are what goes wrong with transactions of several steps.
var stepDefects = []Bad{
	{Name: "half-steps", Caught: "conflict/steps-refused",
		Defect: "the steps of a transaction before one that is refused stay", build: eachHandle(onlyConditionsFirst)},
	{Name: "first-condition", Caught: "conflict/steps-refused",
		Defect: "only the first condition of a transaction is looked at", build: eachHandle(firstCondition)},
	{Name: "unlocked-moves", Caught: "conflict/moves-at-once",
		Defect: "conditions are looked at before the steps, and others change the sessions in between",
		build:  eachHandle(conditionsBefore)},
	{Name: "forgets-steps", Caught: "conflict/steps-retried", Also: []string{"conflict/steps-reply-lost"},
		Defect: "a transaction of several steps that is sent again takes place again, if it can",
		build:  allHandles(forgetsSteps)},
	{Name: "ids-die-with-sessions", Caught: "conflict/steps-retried",
		Defect: "what is known of a transaction is gone with a session that is renamed or deleted",
		build:  allHandles(idsInSessions)},
	{Name: "retry-without-answer", Caught: "conflict/steps-retried", Also: []string{"conflict/steps-reply-lost"},
		Defect: "a transaction that is sent again does not return what it popped at first",
		build:  allHandles(answersOnce)},
	{Name: "ids-alone", Caught: "conflict/steps-retried",
		Defect: "another transaction under a known id is answered as the first", build: allHandles(idsAlone)},
	{Name: "copies-for-renames", Caught: "conflict/steps",
		Defect: "a session that a transaction renames stays under its former key", build: eachHandle(copiesRenamed)},
	{Name: "shortens-once", Caught: "conflict/steps",
		Defect: "a transaction shortens a session, which then grows beyond its limit",
		build:  eachHandle(shortensForNow)},
	{Name: "pops-oldest", Caught: "conflict/steps",
		Defect: "a transaction pops from the wrong end", build: eachHandle(popsOldest)},
}

// stepwiseSteps takes steps one by one.
type stepwiseSteps struct{ *memory.Handle }

func onlyConditionsFirst(h *memory.Handle) contract.Store { return stepwiseSteps{h} }

func (s stepwiseSteps) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) (popped []contract.Message, err error) {
	for i, st := range steps {
		ms, err := s.Handle.TransactSteps(ctx, fmt.Sprint(id, "-", i), conditions, st)
		if err != nil {
			return nil, err
		}
		popped, conditions = append(popped, ms...), nil
	}
	return popped, nil
}

// lenient looks at some conditions only.
type lenient struct{ *memory.Handle }

func firstCondition(h *memory.Handle) contract.Store { return lenient{h} }

func (s lenient) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) ([]contract.Message, error) {
	return s.Handle.TransactSteps(ctx, id, conditions[:min(1, len(conditions))], steps...)
}

// ahead looks at the conditions, and takes the steps later.
type ahead struct{ *memory.Handle }

func conditionsBefore(h *memory.Handle) contract.Store { return ahead{h} }

func (s ahead) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) ([]contract.Message, error) {
	if _, err := s.Handle.TransactSteps(ctx, id+"-conditions", conditions); err != nil {
		return nil, err
	}
	time.Sleep(hop)
	// What others have saved meanwhile is no reason for it to refuse anything.
	for i := range steps {
		steps[i].Turn = slices.Clone(steps[i].Turn)
		for j := range steps[i].Turn {
			if steps[i].Do == contract.StepSave {
				steps[i].Turn[j].ID += id
			}
		}
	}
	return s.Handle.TransactSteps(ctx, id, nil, steps...)
}

// counted gives transactions other ids than the caller's.
type counted struct {
	*memory.Handle
	name func(id string, steps []contract.Step) string
}

func (s counted) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) ([]contract.Message, error) {
	return s.Handle.TransactSteps(ctx, s.name(id, steps), conditions, steps...)
}

func forgetsSteps() wrapper {
	var mu sync.Mutex
	sent := 0
	name := func(id string, _ []contract.Step) string {
		mu.Lock()
		defer mu.Unlock()
		sent++
		return fmt.Sprint(id, "-", sent)
	}
	return func(h *memory.Handle) contract.Store { return counted{h, name} }
}

// idsInSessions keeps the ids of transactions in one of their sessions.
func idsInSessions() wrapper {
	var mu sync.Mutex
	gone := map[string]int{} // how often the session under a key has gone
	name := func(id string, steps []contract.Step) string {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for _, st := range steps {
			n += gone[st.Session] + gone[st.To]
		}
		for _, st := range steps {
			if len(steps) == 1 && (st.Do == contract.StepRename || st.Do == contract.StepDelete) {
				gone[st.Session]++
			}
		}
		return fmt.Sprint(id, "-", n)
	}
	return func(h *memory.Handle) contract.Store { return counted{h, name} }
}

// remembering knows the ids of transactions, and not all that belongs to them.
type remembering struct {
	*memory.Handle
	known *sync.Map // popped messages, by id
	keeps bool      // what was popped
}

func answersOnce() wrapper {
	known := new(sync.Map)
	return func(h *memory.Handle) contract.Store { return remembering{h, known, false} }
}

func idsAlone() wrapper {
	known := new(sync.Map)
	return func(h *memory.Handle) contract.Store { return remembering{h, known, true} }
}

func (s remembering) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) ([]contract.Message, error) {
	if before, known := s.known.Load(id); known && s.keeps {
		return before.([]contract.Message), nil
	}
	popped, err := s.Handle.TransactSteps(ctx, id, conditions, steps...)
	if errors.Is(err, contract.ErrConflict) || errors.Is(err, contract.ErrRefused) {
		return nil, err
	}
	if _, known := s.known.LoadOrStore(id, popped); known && !s.keeps {
		popped = nil
	}
	return popped, err
}

// altered changes the steps of transactions.
type altered struct {
	*memory.Handle
	alter func(contract.Step) contract.Step
	after func(ctx context.Context, h *memory.Handle, st contract.Step) error
}

func (s altered) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) ([]contract.Message, error) {
	other := slices.Clone(steps)
	for i := range other {
		other[i] = s.alter(other[i])
	}
	popped, err := s.Handle.TransactSteps(ctx, id, conditions, other...)
	for _, st := range steps {
		if err == nil {
			err = s.after(ctx, s.Handle, st)
		}
	}
	return popped, err
}

func as(st contract.Step) contract.Step { return st }

func nothingMore(context.Context, *memory.Handle, contract.Step) error { return nil }

// copiesRenamed brings back what was renamed.
func copiesRenamed(h *memory.Handle) contract.Store {
	return altered{h, as, func(ctx context.Context, h *memory.Handle, st contract.Step) error {
		if st.Do != contract.StepRename {
			return nil
		}
		ms, err := h.Load(ctx, st.To)
		if err != nil {
			return err
		}
		return h.Add(ctx, st.Session, ms...)
	}}
}

// shortensForNow forgets the length that a session is to keep.
func shortensForNow(h *memory.Handle) contract.Store {
	return altered{h, as, func(ctx context.Context, h *memory.Handle, st contract.Step) error {
		if st.Do != contract.StepKeep {
			return nil
		}
		return h.Retain(ctx, st.Session, 1000)
	}}
}

// popsOldest pops one message less than it should, and none of the newest.
func popsOldest(h *memory.Handle) contract.Store {
	return altered{h, func(st contract.Step) contract.Step {
		if st.Do == contract.StepPop {
			return contract.Step{Do: contract.StepKeep, Session: st.Session, N: st.N}
		}
		return st
	}, nothingMore}
}
