package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A session of many messages in the store is shortened to a few, and stays so: through flushes, restarts and
// dumps, one message at a time. Retries of what was dropped are known.
func TestRetentionOfALongSession(t *testing.T) {
	const before, keeps = 5000, 300
	r := newRig(t)
	for i := 0; i < before; i += 500 {
		a := &turn.Append{Key: sessionA}
		for j := range 500 {
			a.Messages = append(a.Messages, turn.NewMessage{ID: fmt.Sprint(i + j + 1), Data: []byte("text")})
		}
		r.do(a)
	}
	r.flush()
	got := r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: keeps}})
	if got.Removed != before-keeps || got.Count != keeps {
		t.Fatalf("%d removed, %d left", got.Removed, got.Count)
	}
	for n := before + 1; n <= before+40; n++ {
		if n%7 == 0 {
			r.flush()
		}
		if n%13 == 0 {
			r.flush()
			r.log = nil // all is in the store
			r.restart()
		}
		if got := r.do(appendOf(sessionA, fmt.Sprint(n), "text")); got.Count != keeps {
			t.Fatalf("message %d: the session has %d", n, got.Count)
		}
		h := r.query(&turn.Read{Key: sessionA, From: turn.FromAfter})
		if first := h.Messages[0].Seq; len(h.Messages) != keeps || first != uint64(n-keeps+1) || h.First != first {
			t.Fatalf("message %d: %d are left, from %d on; the first one is said to be %d", n, len(h.Messages), first,
				h.First)
		}
	}
	if got := r.do(appendOf(sessionA, fmt.Sprint(before-keeps), "text")); !got.Duplicate {
		t.Errorf("the retry of a dropped message: %+v", got)
	}
	other := newRig(t)
	if err := other.m.Restore(bytes.NewReader(r.dump())); err != nil {
		t.Fatal(err)
	}
	other.index = r.index
	if a, b := r.hash(), other.hash(); a != b {
		t.Errorf("hash %s, %s after a restore", a, b)
	}
}

// An append is carried out although its entry has nothing left to shorten the session with: the next one
// shortens it.
func TestRetentionWaitsForTheAllowance(t *testing.T) {
	r := newRig(t)
	for range 38 {
		r.do(&turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: make([]byte, 1<<20)}}})
	}
	short := turn.Key{Namespace: sessionA.Namespace, Name: "short"}
	r.do(&turn.Retain{Key: short, Keep: turn.Retention{Messages: 1}})
	r.do(appendOf(short, "a", "A"))
	out := r.apply(1, &turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 20}}, appendOf(short, "b", "B"))
	if out[0].Result.Removed != 17 || out[1].Err != nil || out[1].Result.Count != 2 {
		t.Fatalf("%+v; the append behind it: %+v", out[0], out[1])
	}
	if got := r.do(appendOf(short, "c", "C")); got.Count != 1 {
		t.Errorf("the next append leaves %d messages", got.Count)
	}
	if got := r.do(appendOf(sessionA, "", "x")); got.Count != 20 {
		t.Errorf("the long session has %d", got.Count)
	}
}

func payload(text string) []turn.NewMessage { return []turn.NewMessage{{Data: []byte(text)}} }

func (r *rig) add(k turn.Key, texts ...string) turn.Result {
	r.t.Helper()
	o := &turn.Append{Key: k}
	for _, text := range texts {
		o.Messages = append(o.Messages, payload(text)...)
	}
	return r.do(o)
}

// toolCall and toolResult are a call and its result, of so many bytes more.
func toolCall(id string, size int) string {
	return fmt.Sprintf(`{"tool_calls":[{"id":%q}],"x":"%s"}`, id, strings.Repeat("x", size))
}

func toolResult(id string, size int) string {
	return fmt.Sprintf(`{"tool_call_id":%q,"x":"%s"}`, id, strings.Repeat("x", size))
}

// A session with a large tool call is shortened without another look at that: an append costs what it brings.
func TestShorteningLooksAtNoPayload(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.add(sessionA, `{"tool_calls":[{"id":"q"}],"content":[`+strings.Repeat("0,", 1<<20)+`0]}`)
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		r.add(sessionA, "tiny")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("10 tiny appends take %d bytes of memory", n)
	}
	if got := r.query(&turn.Info{Key: sessionA}).Session.Count; got != 11 {
		t.Errorf("the call waits among %d messages", got)
	}
}

// Nothing that a transaction as a whole has been found to be able to do is refused because its first steps
// shorten sessions.
func TestShorteningLeavesTransactionsWhole(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.add(sessionA, toolCall("open", 8<<20-100))
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}})
	tx := &turn.Tx{All: true, ID: "T1"}
	for range 14 {
		tx.Steps = append(tx.Steps, turn.Step{Op: &turn.Append{Key: sessionA, Messages: payload("x")}})
	}
	tx.Steps = append(tx.Steps, turn.Step{Op: &turn.SetMetadata{Key: turn.Key{Namespace: sessionA.Namespace,
		Name: "a2"},
		Set: map[string]string{"k": "v"}}})
	for n := range 3 {
		out := r.apply(1, tx)[0]
		if out.Err != nil || out.Result.Duplicate != (n > 0) {
			t.Fatalf("send %d: %v, duplicate: %t", n+1, out.Err, out.Result.Duplicate)
		}
		if got := r.query(&turn.Info{Key: sessionA}).Session.Count; got != 15 {
			t.Fatalf("send %d leaves %d messages", n+1, got)
		}
	}
}

// A session that can be shortened only after a look at much of it is shortened, although others come before it in
// every entry.
func TestNoSessionIsPassedOver(t *testing.T) {
	r, short := newRig(t), named("short")
	r.raise(turn.Level2)
	for _, k := range []turn.Key{short, sessionA} {
		r.do(&turn.Retain{Key: k, Keep: turn.Retention{Messages: 1}})
	}
	add := func(text string) uint64 {
		t.Helper()
		out := r.apply(1, &turn.Append{Key: short, Messages: payload("x")},
			&turn.Append{Key: sessionA, Messages: payload(text)})
		if out[0].Err != nil || out[1].Err != nil {
			t.Fatal(out)
		}
		return out[1].Result.Count
	}
	add(toolCall("open", 0))
	large := strings.Repeat("x", 1<<20)
	for n := range uint64(15) {
		if got := add(large); got != n+2 {
			t.Fatalf("%d messages are left of the first %d", got, n+2)
		}
	}
	for n := range 4 {
		if got := add(large); got > 18 {
			t.Fatalf("after %d MiB, %d messages are left", 16+n, got)
		}
	}
}

// While calls keep overlapping, exactly turn.ToolReach messages are kept for them, whether there is more to keep or
// to drop, and whether the session grows by one message at a time or is given a limit later.
func TestShorteningKeepsNoMoreForCalls(t *testing.T) {
	for _, keeps := range []uint64{10, 200} {
		limit := &turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: keeps}}
		r, later := newRig(t), newRig(t)
		r.raise(turn.Level2)
		later.raise(turn.Level2)
		r.do(limit)
		for n := range keeps + 2*turn.ToolReach {
			text := "text"
			if n%50 == 0 {
				text = toolCall(fmt.Sprint(n), 0)
			}
			later.add(sessionA, text)
			if got := r.add(sessionA, text).Count; got != min(n+1, keeps+turn.ToolReach) {
				t.Fatalf("%d messages are kept of %d, the limit is %d", got, n+1, keeps)
			}
		}
		if got := later.do(limit).Count; got != keeps+turn.ToolReach {
			t.Errorf("%d messages are kept of many, the limit is %d", got, keeps)
		}
	}
}

// A call waits for turn.ToolReach messages.
func TestCallsWaitSoLong(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}})
	r.add(sessionA, toolCall("open", 0))
	for n := range uint64(turn.ToolReach) {
		if got := r.add(sessionA, "text").Count; got != n+2 {
			t.Fatalf("%d of %d messages are left", got, n+2)
		}
	}
	if got := r.add(sessionA, "text").Count; got != 1 {
		t.Errorf("%d messages are left for a call that no longer waits", got)
	}
}

// A call of which is not known that it waits, because too many do, is kept for its result.
func TestShorteningWithManyCalls(t *testing.T) {
	list := func(form string, from, to int) string {
		var items []string
		for i := from; i < to; i++ {
			items = append(items, fmt.Sprintf(form, i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	r := newRig(t)
	r.raise(turn.Level2)
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}})
	calls := func(from, to int) string { return `{"tool_calls":` + list(`{"id":"%d"}`, from, to) + `}` }
	results := `{"content":` + list(`{"tool_use_id":"%d"}`, 0, 128) + `}`
	for i, text := range []string{calls(0, 100), calls(100, 200), results, "text", toolResult("199", 0)} {
		if got := r.add(sessionA, text).Count; got != uint64(i+1) {
			t.Fatalf("%d of %d messages are left", got, i+1)
		}
	}
}

// A call of the greatest size is kept for its result.
func TestShorteningKeepsALargeCall(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}})
	r.add(sessionA, toolCall("open", 8<<20-100))
	large := strings.Repeat("x", 1<<20)
	for n := range uint64(7) {
		if got := r.add(sessionA, large).Count; got != n+2 {
			t.Fatalf("%d messages are left of %d", got, n+2)
		}
	}
	if got := r.add(sessionA, toolResult("open", 0)).Count; got != 9 {
		t.Errorf("with the result there are %d", got)
	}
}

// However large they are, no call is parted from its result that is not far away.
func TestShorteningKeepsLargePairs(t *testing.T) {
	k := func(name string) turn.Key { return turn.Key{Namespace: sessionA.Namespace, Name: name} }
	pairs := func(n, size int) (texts []string) {
		for i := range n {
			texts = append(texts, toolCall(fmt.Sprint(i), size), toolResult(fmt.Sprint(i), size))
		}
		return texts
	}
	first := func(r *rig, name string, count uint64) {
		t.Helper()
		got := r.query(&turn.Read{Key: k(name), From: turn.FromAfter, Limit: 1})
		if !bytes.HasPrefix(got.Messages[0].Data, []byte(`{"tool_calls"`)) || got.Session.Count != count {
			t.Errorf("%s: the first of %d messages is %.30s…, want a call and %d", name, got.Session.Count,
				got.Messages[0].Data, count)
		}
	}
	for _, flush := range []bool{false, true} {
		r := newRig(t)
		r.raise(turn.Level2)
		settle := func() {
			if flush {
				r.flush()
			}
		}
		for _, texts := range slices.Collect(slices.Chunk(pairs(500, 20_000), 100)) {
			r.add(k("a"), texts...)
		}
		settle()
		r.do(&turn.Retain{Key: k("a"), Keep: turn.Retention{Messages: 201}})
		first(r, "a", 202)

		r.do(&turn.Retain{Key: k("b"), Keep: turn.Retention{Messages: 10}})
		r.add(k("b"), append(pairs(150, 24_000), slices.Repeat([]string{"u"}, 9)...)...)
		first(r, "b", 11)

		r.do(&turn.Retain{Key: k("c"), Keep: turn.Retention{Messages: 200}})
		r.add(k("c"), toolCall("k", 5<<20), toolResult("k", 1))
		settle()
		r.add(k("c"), slices.Repeat([]string{"u"}, 199)...)
		first(r, "c", 201)
		r.add(k("c"), "u")
		if got := r.query(&turn.Info{Key: k("c")}).Session.Count; got != 200 {
			t.Errorf("c keeps %d", got)
		}
	}
}

// A push that comes again is known although what it brought was dropped since: by the session's retention, not by a
// client.
func TestPushOnceOfADroppedMessage(t *testing.T) {
	push := func(ids ...string) turn.Op {
		o := &turn.PushOnce{Key: sessionA}
		for _, id := range ids {
			o.Messages = append(o.Messages, turn.NewMessage{ID: id, Data: []byte(id)})
		}
		return o
	}
	restart := func(r *rig) { r.flush(); r.log = nil; r.restart() }
	for _, settled := range []func(*rig){func(*rig) {}, (*rig).flush, restart} {
		r := newRig(t)
		expect := func(op turn.Op, want string) {
			t.Helper()
			out := r.apply(1, op)[0]
			if got := fmt.Sprint(out.Result.Count, out.Result.Duplicate, out.Err != nil); got != want {
				t.Errorf("%+v: %s, %v, want %s", op, got, out.Err, want)
			}
			settled(r)
		}
		expect(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 2}}, "0 false false")
		expect(push("a"), "1 false false")
		expect(push("b"), "2 false false")
		expect(push("c"), "2 false false")
		expect(push("a"), "2 true false")
		expect(push("d", "e", "f"), "2 false false")
		expect(push("d", "e", "f"), "2 true false")
		expect(push("c"), "2 true false")
		expect(push("x"), "2 false false")
		expect(&turn.Pop{Key: sessionA, From: turn.Head, Count: 1, List: true}, "1 false false") // f
		expect(push("g", "h"), "2 false false")
		expect(push("f"), "2 false false") // it was popped
		expect(push("e"), "2 true false")
		expect(push("x"), "2 true false")
	}
}

// Moves and inserts begin no turns.
func TestListEditsBeginNoTurns(t *testing.T) {
	push := func(texts ...string) turn.Op {
		o := &turn.Append{Key: sessionA}
		for _, text := range texts {
			o.Messages = append(o.Messages, payload(text)...)
		}
		return o
	}
	insert := func(pivot, text string) turn.Op {
		return &turn.InsertElement{Key: sessionA, Pivot: []byte(pivot), After: true, Data: []byte(text)}
	}
	for _, c := range []struct {
		want string
		ops  []turn.Op
	}{
		{"a2 a3 b1 b2 a1", []turn.Op{&turn.MoveElement{Key: sessionA, To: sessionA, From: turn.Head, On: turn.Tail}}},
		{"b2 a1 a2 a3 b1", []turn.Op{&turn.MoveElement{Key: sessionA, To: sessionA, From: turn.Tail, On: turn.Head}}},
		{"a1 a2 a3 b1 x b2", []turn.Op{insert("b1", "x")}},
		{"a1 a2 a3 b1 b2 x", []turn.Op{insert("b2", "x")}},
		{"a1 a2 a3 x b1 b2", []turn.Op{insert("a3", "x")}},
		{"b1 b2 c", []turn.Op{insert("a3", "x"), push("c")}},
		{"b1 x b2 c", []turn.Op{insert("b1", "x"), push("c")}},
		{"b1 b2 x c", []turn.Op{insert("b2", "x"), push("c")}},
		{"c d", []turn.Op{insert("b1", "x"), push("c"), push("d")}},
	} {
		r := newRig(t)
		r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Turns: 2}})
		for _, op := range append([]turn.Op{push("a1", "a2", "a3"), push("b1", "b2")}, c.ops...) {
			r.do(op)
		}
		if got := r.elements(0, -1); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// Whatever happens in between, no result of a call stays that a session dropped by itself, if no more than
// ToolReach messages are between the two, and no more are kept than that for the sake of calls.
func TestRetentionPartsNoCallFromItsResult(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		r, keeps, forced := newRig(t), uint64(1+rnd.IntN(30)), uint64(0)
		r.raise(turn.Level2)
		r.do(&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: keeps}})
		all := []turn.Message{{}}
		answered := make(map[uint64]uint64) // a result's seq → its call's
		for i := range 300 {
			var texts []string
			waiting := map[string]uint64{}
			for _, m := range r.query(&turn.Read{Key: sessionA, From: turn.FromAfter}).Messages {
				if call, result := toolsOf(m); call != "" {
					waiting[call] = m.Seq
				} else {
					delete(waiting, result)
				}
			}
			switch n := rnd.IntN(12); {
			case n < 3:
				texts = append(texts, fmt.Sprintf(`{"type":"function_call","call_id":"%d"}`, i))
			case n < 6:
				for id, call := range waiting {
					if rnd.IntN(2) == 0 {
						answered[uint64(len(all)+len(texts))] = call
						texts = append(texts, fmt.Sprintf(`{"tool_call_id":%q}`, id))
					}
				}
			case n == 6:
				r.do(&turn.Pop{Key: sessionA, From: turn.Newest, Count: uint64(1 + rnd.IntN(3))})
			case n == 7:
				r.flush()
			}
			for range rnd.IntN(4) {
				texts = append(texts, "text")
			}
			if len(texts) > 0 {
				r.add(sessionA, texts...)
			}
			got := r.query(&turn.Read{Key: sessionA, From: turn.FromAfter})
			for n := uint64(len(all)); n <= got.Session.Last; n++ {
				all = append(all, turn.Message{Seq: n})
			}
			count := got.Session.Count
			if count > keeps+turn.ToolReach {
				t.Fatalf("seed %d: %d messages are kept", seed, count)
			}
			if count == keeps+turn.ToolReach { // calls had to be dropped
				forced = got.Session.First
			}
			for _, m := range got.Messages {
				if call, ok := answered[m.Seq]; ok && call >= forced && call < got.Session.First {
					t.Fatalf("seed %d: message %d is the result of %d, which was dropped; there are %d, from %d on",
						seed,
						m.Seq, call, count, got.Session.First)
				}
			}
		}
	}
}
