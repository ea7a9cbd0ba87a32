package requests

import (
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

func TestForwardedRoundTrip(t *testing.T) {
	want := propose.Forwarded{Origin: 1 << 63, Session: 2, Place: 3, Commands: []codec.Command{
		{Origin: 9, Number: 1, Op: []byte("a")}, {Origin: 9, Number: 2, Op: []byte("bb")},
	}}
	got, err := parseForwarded(appendForwarded(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestOutcomesRoundTrip(t *testing.T) {
	want := []fsm.Outcome{
		{Origin: 9, Number: 1, Result: turn.Result{First: 3, Last: 4, Revision: 5, Index: 6, Time: 7}},
		{Origin: 9, Number: 2, Err: turn.Errorf(turn.Conflict, "no")},
		{Origin: 9, Number: 3, Skipped: true},
	}
	got, err := parseOutcomes(appendOutcomes(nil, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestAnswers(t *testing.T) {
	for _, want := range []*propose.Failure{
		{Definite: true, Err: turn.Errorf(turn.ReadOnly, "full")},
		{Definite: false, Err: turn.Errorf(turn.Unknown, "lost")},
	} {
		_, got, err := open(failed(want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if _, f, err := open([]byte{answerNotLeader}); err != nil || f == nil || !f.Definite {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, b := range [][]byte{nil, {99}, {answerFailed, 1}} {
		if _, _, err := open(b); err == nil {
			t.Errorf("%v is taken for an answer", b)
		}
	}
}

// Whatever another node sends, parsing it ends, in proportion to its length.
func FuzzWire(f *testing.F) {
	f.Add(appendForwarded(propose.Forwarded{Origin: 1, Session: 2, Place: 3,
		Commands: []codec.Command{{Origin: 9, Number: 1, Op: []byte("a")}}}))
	f.Add(appendOutcomes(nil,
		[]fsm.Outcome{{Origin: 9, Number: 2, Err: turn.Errorf(turn.Conflict, "no")}, {Number: 3, Skipped: true}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := parseForwarded(b); err == nil && len(v.Commands) > len(b) {
			t.Fatalf("%d commands from %d bytes", len(v.Commands), len(b))
		}
		if outs, err := parseOutcomes(b); err == nil && len(outs) > len(b) {
			t.Fatalf("%d outcomes from %d bytes", len(outs), len(b))
		}
		_, _, _ = open(b)
	})
}

// Of the members with space and with a longer log, the least damaged one is to lead.
func TestLeastDamagedTransferTarget(t *testing.T) {
	better := []Status{{Last: 9}, {Last: 8}, {NoSpace: true, Last: 9}, {Damaged: true, Last: 10},
		{Damaged: true, Halted: true, Last: 11}}
	for i, s := range better {
		for j, than := range better {
			if s.LeadsBetter(than) != (i < j) {
				t.Errorf("%+v is to lead rather than %+v: %v", s, than, i >= j)
			}
		}
	}
}
