package contract

import (
	"errors"
	"fmt"
)

var sequentialCases = []Case{
	{Name: "roundtrip", Incident: I1, run: roundtrip,
		Proves: "A turn that was saved comes back whole, in order, and once."},
	{Name: "empty-session", Incident: I3, run: emptySession,
		Proves: "A session that was never written loads as empty, without an error."},
	{Name: "many-turns", Incident: I1, run: manyTurns,
		Proves: "A long conversation comes back in the order in which it was held."},
	{Name: "same-millisecond", Incident: I1, run: sameMillisecond,
		Proves: "Turns that follow each other within a millisecond keep their order."},
	{Name: "interleaved-sessions", Incident: I3, run: interleaved,
		Proves: "Conversations that take turns with each other stay apart and in order."},
	{Name: "second-handle", Incident: I4, run: secondHandle,
		Proves: "What one handle saves, another handle loads, although it had read the session before."},
	{Name: "saved-means-saved", Incident: I3, run: savedMeansSaved,
		Proves: "As soon as a save has returned, another handle sees the turn."},
	{Name: "close-keeps", Incident: I4, run: closeKeeps,
		Proves: "Closing the handle right after a save loses nothing."},
	{Name: "async-save", Incident: I1, Needs: []Capability{CanAsync}, run: asyncSave,
		Proves: "An asynchronous save that reports success has saved."},
	{Name: "async-load", Incident: I5, Needs: []Capability{CanAsyncLoad}, run: asyncLoad,
		Proves: "An asynchronous load shows what any handle has saved before it began."},
	{Name: "async-clear", Incident: I5, Needs: []Capability{CanAsyncClear}, run: asyncClear,
		Proves: "An asynchronous clear that reports success has cleared, and nothing else."},
	{Name: "tool-fields", Incident: I3, run: toolFields,
		Proves: "Tool calls, their arguments and the ids that bind results to them come back."},
	{Name: "tool-numbers", Incident: I3, run: toolNumbers,
		Proves: "Large numbers in the arguments of tool calls keep every digit, or are refused, but never change."},
	{Name: "roles", Incident: I3, run: roles,
		Proves: "The roles of a conversation come back as they were."},
	{Name: "later-system", Incident: I3, run: laterSystem,
		Proves: "A system message in the middle of a conversation stays where it was said, and replaces none " +
			"before it."},
	{Name: "clear", Incident: I3, run: probing(clearSession),
		Proves: "A cleared session is empty, and what is said afterwards stands alone."},
	{Name: "clear-nothing", Incident: I3, run: clearNothing,
		Proves: "Clearing a session that does not exist is no error."},
	{Name: "delete", Incident: I3, Needs: []Capability{CanDelete}, run: probing(deleteSession),
		Proves: "A deleted session is empty, also for other handles, and can begin again."},
	{Name: "trim", Incident: I3, Needs: []Capability{CanTrim}, run: trimSession,
		Proves: "Trimming keeps exactly the newest messages, in order."},
	{Name: "trim-bounds", Incident: I3, Needs: []Capability{CanTrim}, run: trimBounds,
		Proves: "Trimming to more than there is removes nothing, and to zero everything."},
	{Name: "load-last", Incident: I4, Needs: []Capability{CanLoadLast}, run: loadLast,
		Proves: "The last n messages are the newest n, oldest of them first."},
	{Name: "pop", Incident: I3, Needs: []Capability{CanPop}, run: popNewest,
		Proves: "Popping returns the newest message and removes that one only."},
	{Name: "list", Incident: I3, Needs: []Capability{CanList}, run: listSessions,
		Proves: "Every session with messages is listed, once, and none of another prefix."},
	{Name: "long-list", Incident: I3, Needs: []Capability{CanList}, long: true, run: longList,
		Proves: "Nothing cuts a list of sessions: all of 1,050 are there."},
}

func roundtrip(p *probe) error {
	s := p.session("a")
	if err := p.add(p.store, s, 1, 1, 2); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}

func emptySession(p *probe) error {
	return p.exactly(p.store, p.session("never-written"), nil)
}

func manyTurns(p *probe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 4*p.Turns); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}

// sameMillisecond saves from two handles in turn: clocks and counters of single
// handles do not help then.
func sameMillisecond(p *probe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	for i := range 2 * p.Turns {
		handle := p.store
		if p.random.IntN(2) == 0 {
			handle = other
		}
		if err := p.add(handle, s, 1, i+1, 1+p.random.IntN(3)); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

func interleaved(p *probe) error {
	var sessions []string
	for i := range 4 {
		sessions = append(sessions, p.session(fmt.Sprint(i)))
	}
	for i := range 3 * p.Turns {
		if err := p.add(p.store, sessions[p.random.IntN(len(sessions))], 1, i+1, 2); err != nil {
			return err
		}
	}
	for _, s := range sessions {
		if err := p.verifyWhole(p.store, s); err != nil {
			return err
		}
	}
	return nil
}

func secondHandle(p *probe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	for range 5 {
		if err := p.verify(other, s); err != nil { // it may cache what it sees
			return err
		}
		if err := p.fill(p.store, s, 1); err != nil {
			return err
		}
	}
	return p.verify(other, s)
}

func savedMeansSaved(p *probe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	for range p.Turns {
		if err := p.fill(p.store, s, 1); err != nil {
			return err
		}
		if err := p.verify(other, s); err != nil {
			return fmt.Errorf("read by another handle right after the save returned: %w", err)
		}
	}
	return nil
}

func closeKeeps(p *probe) error {
	s := p.session("a")
	for range 5 {
		h, err := p.opened(p.ctx)
		if err != nil {
			return err
		}
		if err := p.fill(h, s, 1); err != nil {
			return err
		}
		if err := h.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	return p.verify(p.store, s)
}

func toolFields(p *probe) error {
	want := []Message{
		{Role: "user", Content: "Where is order 4711, and what is the weather in Łódź?"},
		{Role: "assistant", ToolCalls: []ToolCall{
			{ID: "call_1", Name: "find_order", Arguments: `{"number":4711}`},
			{ID: "call_2", Name: "weather", Arguments: `{"city":"Łódź","note":"a \"quoted\" word"}`}}},
		{Role: "tool", ToolCallID: "call_1", Content: `{"state":"on its way"}`},
		{Role: "tool", ToolCallID: "call_2", Content: "rain"},
		{Role: "assistant", Content: "It is on its way, in the rain.",
			ToolCalls: []ToolCall{{ID: "call_3", Name: "bye", Arguments: "{}"}}},
	}
	return p.comesBack(want...)
}

func roles(p *probe) error {
	return p.comesBack(Message{Role: "system", Content: "Be brief."}, Message{Role: "user", Content: "hi"},
		Message{Role: "assistant", Content: "Hello."}, Message{Role: "user", Content: "bye"})
}

// toolNumbers has whole numbers that no float holds: order numbers and ids are such.
func toolNumbers(p *probe) error {
	want := []Message{{Role: "user", Content: "Where are my orders?"}}
	numbers := []string{"9007199254740993", "18446744073709551615", "123456789012345678901234567890"}
	for range 5 {
		numbers = append(numbers, fmt.Sprint(1<<53+1+2*p.random.Uint64N(1<<52))) // odd, beyond 2⁵³
	}
	for i, n := range numbers {
		id := fmt.Sprintf("call_%d", i)
		want = append(want,
			Message{Role: "assistant",
				ToolCalls: []ToolCall{{ID: id, Name: "find_order", Arguments: `{"number":` + n + `,"lines":[1,` +
					n + `]}`}}},
			Message{Role: "tool", ToolCallID: id, Content: `{"number":` + n + `}`})
	}
	err := p.comesBack(want...)
	if errors.Is(err, ErrRefused) {
		return p.leftNothing(p.session("a"))
	}
	return err
}

// laterSystem saves turn by turn, so that also what comes in a later save can be seen
// to move.
func laterSystem(p *probe) error {
	s := p.session("a")
	turns := [][]Message{
		{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "hi"}, {Role: "assistant", Content: "Hello."}},
		{{Role: "system", Content: "The user has logged in."}, {Role: "user", Content: "my orders?"},
			{Role: "assistant", Content: "Two."}},
		{{Role: "user", Content: "thanks"}, {Role: "system", Content: "The user has left."}},
	}
	var want []Message
	for _, turn := range turns {
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.Add(ctx, s, turn...); err != nil {
			return fmt.Errorf("add: %w", err)
		}
		want = append(want, turn...)
		if err := p.exactly(p.store, s, want); err != nil {
			return err
		}
	}
	return nil
}

// comesBack saves messages as one turn and compares what is loaded, through the
// same and another handle.
func (p *probe) comesBack(want ...Message) error {
	s := p.session("a")
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Add(ctx, s, want...); err != nil {
		return fmt.Errorf("add: %w", err)
	}
	if err := p.exactly(p.store, s, want); err != nil {
		return err
	}
	other, err := p.open()
	if err != nil {
		return err
	}
	return p.exactly(other, s, want)
}
