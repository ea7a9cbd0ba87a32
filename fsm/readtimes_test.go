package fsm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/turn"
)

// Reads by time return what a filter of the whole session does, whatever was removed, and wherever the
// messages are.
func TestReadsByTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 9))
	r := newRig(t)
	clock := int64(1_000)
	for step := range 1200 {
		if rnd.IntN(3) > 0 {
			clock += rnd.Int64N(20)
		}
		r.apply(clock, timedChange(r, rnd, step))
		if rnd.IntN(25) == 0 {
			r.flush()
		}
		q := &turn.Read{Key: sessionA, From: turn.ReadFrom(rnd.IntN(3)), Limit: rnd.IntN(8),
			Since: max(0, clock-rnd.Int64N(400)), Until: max(0, clock-rnd.Int64N(300))}
		q.Seq = uint64(rnd.IntN(step + 2))
		if rnd.IntN(3) == 0 {
			q.Until = 0
		} else if rnd.IntN(3) == 0 {
			q.Since = 0
		}
		if q.Since+q.Until == 0 {
			continue
		}
		want, more := filtered(r.query(&turn.Read{Key: sessionA, From: turn.FromAfter}).Messages, q)
		got := r.query(q)
		if !slices.EqualFunc(got.Messages, want, func(a, b turn.Message) bool { return a.Seq == b.Seq }) ||
			got.More != more {
			t.Fatalf("step %d, %+v:\ngot  %s more=%t\nwant %s more=%t", step, q, seqsOf(got.Messages), got.More,
				seqsOf(want), more)
		}
	}
}

func timedChange(r *rig, rnd *rand.Rand, step int) turn.Op {
	switch last := r.query(&turn.Info{Key: sessionA}).Last; rnd.IntN(12) {
	case 0:
		return &turn.Pop{Key: sessionA, From: turn.Newest, Count: 2}
	case 1, 2:
		seq := 1 + rnd.Uint64N(last+1)
		return &turn.RemoveMessage{Key: sessionA, Message: turn.MessageRef{Seq: seq}}
	case 3:
		return &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 60}
	case 4:
		return &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: []byte("h")}}, Side: turn.Head}
	}
	return appendOf(sessionA, fmt.Sprint("id", step), "data")
}

// filtered is what q asks for, of all messages.
func filtered(all []turn.Message, q *turn.Read) (out []turn.Message, more bool) {
	for _, m := range all {
		in := m.Time >= q.Since && (q.Until == 0 || m.Time < q.Until)
		if in && (q.From != turn.FromAfter || m.Seq > q.Seq) && (q.From != turn.FromBefore || m.Seq < q.Seq) {
			out = append(out, m)
		}
	}
	switch {
	case q.Limit == 0 || len(out) <= q.Limit:
		return out, false
	case q.From == turn.FromAfter:
		return out[:q.Limit], true
	}
	return out[len(out)-q.Limit:], true
}

func seqsOf(ms []turn.Message) (text string) {
	for _, m := range ms {
		text += fmt.Sprintf("%d@%d ", m.Seq, m.Time)
	}
	return text
}

// A read by time of a long session looks at few of its messages.
func TestReadByTimeProbesFew(t *testing.T) {
	r := newRig(t)
	const count = 20_000
	for at := 0; at < count; at += 500 {
		ms := make([]turn.NewMessage, 500)
		for i := range ms {
			ms[i].Data = []byte("m")
		}
		r.apply(int64(1+at), &turn.Append{Key: sessionA, Messages: ms})
	}
	r.flush()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.keys.Allowance = cost.Allowance{Left: cost.EntryAllowance(), Whole: true}
	h, err := r.m.keys.Find("0\x00" + sessionA.Name)
	if err != nil || h == nil {
		t.Fatalf("no session: %v", err)
	}
	v, err := r.m.keys.View(h)
	if err != nil {
		t.Fatal(err)
	}
	from, end, err := queries.TimeRange(&turn.Read{Since: 10_001, Until: 10_002}, h, &v)
	if err != nil || from != 10_001 || end != 10_501 {
		t.Errorf("the range is [%d, %d), %v", from, end, err)
	}
	if v.Passed > 40 {
		t.Errorf("%d messages of %d were looked at", v.Passed, count)
	}
	r.m.keys.EndReading()
}

// Whole reads by a number never begin with the result of a call that they leave out.
func TestWholeReads(t *testing.T) {
	r := newRig(t)
	for i, data := range []string{`{"role":"user"}`, `{"tool_calls":[{"id":"a"},{"id":"b"}]}`, `{"tool_call_id":"a"}`,
		`{"tool_call_id":"b"}`, `{"role":"assistant"}`} {
		r.apply(int64(i+1), &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: []byte(data)}}})
	}
	for _, stored := range []bool{false, true} {
		if stored {
			r.flush()
		}
		for _, c := range []struct {
			q    turn.Read
			want string
		}{
			{turn.Read{Limit: 3}, "3 4 5"},
			{turn.Read{Limit: 3, Whole: true}, "5"},
			{turn.Read{Limit: 4, Whole: true}, "2 3 4 5"},
			{turn.Read{Whole: true}, "1 2 3 4 5"},
			{turn.Read{From: turn.FromBefore, Seq: 5, Limit: 1, Whole: true}, "2 3 4"},
			{turn.Read{From: turn.FromAfter, Limit: 3, Whole: true}, "1"},
			{turn.Read{Limit: 3, Whole: true, Since: 2, Until: 5}, "2 3 4"},
			{turn.Read{Limit: 2, Whole: true, Since: 2}, "5"},
		} {
			c.q.Key = sessionA
			got := ""
			for _, m := range r.query(&c.q).Messages {
				got += fmt.Sprint(" ", m.Seq)
			}
			if got != " "+c.want {
				t.Errorf("stored %t, %+v: %s instead of %s", stored, c.q, got, c.want)
			}
		}
	}
}
