package fsm

import (
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/turn"
)

func byID(id string) turn.MessageRef { return turn.MessageRef{ID: id} }

// A retry of an append is answered as at first, whatever became of its message: it neither
// brings a removed one back, nor the first payload of an edited one.
func TestRetryLeavesEditsAlone(t *testing.T) {
	for _, stored := range []bool{false, true} {
		r := newRig(t)
		first := r.do(appendOf(sessionA, "a", "A"))
		r.do(appendOf(sessionA, "b", "B"))
		r.do(appendOf(sessionA, "c", "C"))
		if stored {
			r.flush()
		}
		if got := r.do(&turn.EditMessage{Key: sessionA, Message: byID("a"), Data: []byte("edited")}); got.First != 1 {
			t.Errorf("the edited message is %d", got.First)
		}
		if got := r.do(&turn.RemoveMessage{Key: sessionA, Message: byID("b")}); got.Removed != 1 || got.Count != 2 {
			t.Errorf("%d removed, %d left", got.Removed, got.Count)
		}
		if stored {
			r.flush()
			r.restart()
		}
		if got := r.do(appendOf(sessionA, "a", "A")); !got.Duplicate || got.Revision != first.Revision {
			t.Errorf("retry of the edited message: %+v", got)
		}
		if got := r.do(appendOf(sessionA, "b", "B")); !got.Duplicate || got.First != 2 {
			t.Errorf("retry of the removed message: %+v", got)
		}
		if out := r.apply(1, appendOf(sessionA, "a", "edited"))[0]; out.Err == nil || out.Err.Kind != turn.IDReused {
			t.Errorf("the edited payload as a new message of the same id: %v", out.Err)
		}
		if got := r.elements(0, -1); got != "edited C" {
			t.Errorf("the session holds %q", got)
		}
		got := r.query(&turn.Read{Key: sessionA, From: turn.FromAfter})
		if got.Messages[0].Seq != 1 || got.Messages[1].Seq != 3 || got.Last != 3 {
			t.Errorf("the messages are %+v", got.Messages)
		}
	}
}

// A message is edited once: a repetition, which finds what it was to write, is no change that
// others would see as a conflict.
func TestRepeatedEditChangesNothing(t *testing.T) {
	r := newRig(t)
	r.do(appendOf(sessionA, "b", "B"))
	r.do(appendOf(sessionA, "a", "A"))
	edit := &turn.EditMessage{Key: sessionA, Message: byID("a"), Data: []byte("edited")}
	first, again := r.do(edit), r.do(edit)
	if first.Revision != 3 || again.Revision != 3 || again.First != 2 {
		t.Errorf("the edit is answered with %+v, then %+v", first, again)
	}
	remove := &turn.RemoveMessage{Key: sessionA, Message: byID("a")}
	if first, again := r.do(remove), r.do(remove); first.Revision != 4 || again.Revision != 4 || again.Removed != 0 {
		t.Errorf("the removal is answered with %+v, then %+v", first, again)
	}
	if out := r.apply(1, edit)[0]; out.Err == nil || out.Err.Kind != turn.NotFound {
		t.Errorf("an edit of a removed message: %v", out.Err)
	}
}

// Only what is older than the window of ids is searched for, and the search is paid for.
func TestSearchForAnIDIsBounded(t *testing.T) {
	for allowed, want := range map[int]turn.Kind{30: turn.TooLarge, 31: turn.Internal} {
		r := newRig(t)
		r.fill(31, 10)
		r.m.mu.Lock()
		r.m.keys.Allowance = cost.Allowance{Left: allowed * cost.Passed, Whole: true}
		err := r.m.applyOp(r.index, &turn.RemoveMessage{Key: sessionA, Message: byID("none")}, new(turn.Result))
		r.m.keys.EndReading()
		r.m.mu.Unlock()
		if got := turn.Internal; err != nil {
			if got = turn.KindOf(err); got != want {
				t.Errorf("31 messages, %d may be passed: %v", allowed, err)
			}
		} else if got != want {
			t.Errorf("31 messages are searched where %d may be passed", allowed)
		}
	}
}
