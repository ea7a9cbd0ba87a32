package codec

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"testing/quick"

	"github.com/turnlog/turnlog/turn"
)

var ops = []turn.Op{
	&turn.Append{}, &turn.Pop{}, &turn.Trim{}, &turn.Replace{}, &turn.Clear{}, &turn.Delete{}, &turn.Expire{},
	&turn.Fork{}, &turn.SetMetadata{}, &turn.Erase{}, &Tick{}, &Epoch{}, &Member{}, &Checksum{},
	&turn.SetString{}, &turn.AddInt{}, &turn.SetFields{}, &turn.RemoveFields{}, &turn.AddToField{},
	&turn.SetScores{}, &turn.AddEntry{}, &turn.TrimEntries{}, &turn.RemoveEntries{},
	&turn.SetElement{}, &turn.InsertElement{}, &turn.RemoveElements{},
	&turn.PopFirst{}, &turn.MoveElement{}, &turn.PushOnce{}, &turn.SetNew{}, &SetLevel{},
	&turn.RemoveScores{}, &turn.EditMessage{}, &turn.RemoveMessage{}, &turn.Retain{},
	&turn.Rename{}, &turn.StoreSets{},
	&turn.Tx{},
}

var queries = []turn.Query{
	&turn.Read{}, &turn.List{}, &turn.Info{}, &turn.Sessions{}, &turn.Count{},
	&turn.GetString{}, &turn.Fields{}, &turn.AllFields{},
	&turn.Scores{}, &turn.Rank{}, &turn.Entries{},
	&turn.Lookup{}, &turn.CombineSets{},
}

// Every kind must be in the lists above, so that the tests below are about it.
func TestEveryKindIsTested(t *testing.T) {
	if len(ops) != len(opKinds.byType) || len(queries) != len(queryKinds.byType) {
		t.Errorf("%d of %d operations and %d of %d queries are tested", len(ops), len(opKinds.byType), len(queries),
			len(queryKinds.byType))
	}
}

// random fills a value of the type that like points to. Slices and maps that
// come out empty are nil, as they come back from the wire, and numbers that
// stand for a choice stay in their range.
func random(t testing.TB, rnd *rand.Rand, like any) any {
	t.Helper()
	p := reflect.New(reflect.TypeOf(like).Elem())
	for i := range p.Elem().NumField() {
		f := p.Elem().Field(i)
		switch f.Type() {
		case reflect.TypeFor[[]turn.Step](): // holds what quick cannot make
			f.Set(reflect.ValueOf(randomSteps(t, rnd)))
			continue
		case reflect.TypeFor[[]turn.Outcome](): // holds itself
			f.Set(reflect.ValueOf(randomOutcomes(t, rnd)))
			continue
		}
		v, ok := quick.Value(f.Type(), source(rnd))
		if !ok {
			t.Fatalf("cannot make a random %T", like)
		}
		f.Set(v)
	}
	normalise(p.Elem())
	return p.Interface()
}

func randomSteps(t testing.TB, rnd *rand.Rand) []turn.Step {
	var steps []turn.Step
	for range rnd.IntN(5) {
		op := random(t, rnd, ops[rnd.IntN(len(ops)-1)]).(turn.Op) // the last is Tx
		steps = append(steps, turn.Step{Op: op},
			turn.Step{Query: random(t, rnd, queries[rnd.IntN(len(queries))]).(turn.Query)})
	}
	return steps
}

func randomOutcomes(t testing.TB, rnd *rand.Rand) []turn.Outcome {
	var all []turn.Outcome
	for range rnd.IntN(3) {
		all = append(all, turn.Outcome{Result: turn.Result{Number: rnd.Int64(), Value: []byte("x")}},
			turn.Outcome{Err: turn.Errorf(turn.Conflict, "no")})
	}
	return all
}

func normalise(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			normalise(v.Field(i))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			normalise(v.Elem())
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			normalise(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		}
	case reflect.Uint8:
		if v.Type() != reflect.TypeFor[uint8]() {
			v.SetUint(v.Uint() % 3)
		}
	}
}

// TestRoundTrip holds every type to: what is encoded is decoded the same, all
// fields included, so that a field forgotten in a fields method is found.
func TestRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		for _, like := range ops {
			op := random(t, rnd, like).(turn.Op)
			b, err := EncodeOp(op)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeOp(b)
			if err != nil || !equal(got, op) {
				t.Fatalf("%T: %v\n got %+v\nwant %+v", op, err, got, op)
			}
		}
		for _, like := range queries {
			q := random(t, rnd, like).(turn.Query)
			b, err := EncodeQuery(q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeQuery(b)
			if err != nil || !equal(got, q) {
				t.Fatalf("%T: %v\n got %+v\nwant %+v", q, err, got, q)
			}
		}
		r := random(t, rnd, &turn.Result{}).(*turn.Result)
		b, err := EncodeResult(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeResult(b)
		if err != nil || !equal(&got, r) {
			t.Fatalf("result: %v\n got %+v\nwant %+v", err, got, r)
		}
	}
}

// equal is reflect.DeepEqual with nil and empty byte strings the same.
func equal(a, b any) bool {
	normalise(reflect.ValueOf(a).Elem())
	normalise(reflect.ValueOf(b).Elem())
	return reflect.DeepEqual(a, b)
}

func TestErrorRoundTrip(t *testing.T) {
	e := &turn.Error{Kind: turn.Conflict, Message: "revision is 7", Revision: 7}
	b, err := EncodeError(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeError(b)
	if err != nil || *got != *e {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	op := &turn.Append{Key: turn.Key{Namespace: "0", Name: "s"},
		Messages: []turn.NewMessage{{ID: "a", Data: []byte("hello")}}}
	b, err := EncodeOp(op)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if got, err := DecodeOp(b[:n]); err == nil {
			t.Errorf("%d of %d bytes decode to %+v", n, len(b), got)
		}
	}
	if _, err := DecodeOp(append(bytes.Clone(b), 0)); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("trailing byte: %v", err)
	}
}

// A field, kind or choice of a later version must be refused as newer: a state
// machine that ignored it would diverge from those that know it.
func TestNewerIsRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"unknown kind":     {0x91, 0xcc, 0xf0},
		"additional field": {0x92, kindTick, 0x01},
		"unknown choice":   {0x94, kindPop, 0xa1, '0', 0xa1, 's', 0x63},
	} {
		if _, err := DecodeOp(b); turn.KindOf(err) != turn.Newer {
			t.Errorf("%s: %v, want %v", name, err, turn.Newer)
		}
	}
	if _, err := DecodeEntry(append([]byte{EntryVersion + 1}, make([]byte, 20)...)); turn.KindOf(err) != turn.Newer {
		t.Errorf("entry version: %v", err)
	}
}

// Nothing nests without end: a record of a few bytes per level would exhaust the stack.
func TestTransactionWithinTransactionIsRefused(t *testing.T) {
	if _, err := EncodeOp(&turn.Tx{Steps: []turn.Step{{Op: &turn.Tx{}}}}); err == nil {
		t.Error("a transaction within a transaction was encoded")
	}
	b := []byte{0x93, kindTx, 0x90, 0x91, 0xc2, 0x93, kindTx, 0x90, 0x90}
	if op, err := DecodeOp(b); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("got %+v, %v, want %v", op, err, turn.Corrupt)
	}
	if _, err := EncodeOp(&turn.Tx{Steps: []turn.Step{{}}}); err == nil {
		t.Error("an empty step was encoded")
	}
}

// An older version wrote fewer fields: the missing ones are zero.
func TestOlderIsRead(t *testing.T) {
	op, err := DecodeOp([]byte{0x93, kindClear, 0xa1, '0', 0xa1, 's'})
	want := &turn.Clear{Key: turn.Key{Namespace: "0", Name: "s"}}
	if err != nil || !reflect.DeepEqual(op, want) {
		t.Fatalf("got %+v, %v", op, err)
	}
}

func TestEntryRoundTrip(t *testing.T) {
	want := Entry{Stamp: 1 << 40,
		Commands: []Command{{Origin: 1 << 63, Number: 1, Op: []byte("one")}, {Number: 300, Op: []byte{}}}}
	b := AppendEntry(nil, want.Stamp, want.Commands)
	got, err := DecodeEntry(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for n := range b {
		if _, err := DecodeEntry(b[:n]); err == nil {
			t.Errorf("%d of %d bytes decode", n, len(b))
		}
	}
}

func FuzzDecode(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		for _, like := range ops {
			b, _ := EncodeOp(random(f, rnd, like).(turn.Op))
			f.Add(AppendEntry(nil, 1, []Command{{Op: b}}))
			f.Add(b)
		}
	}
	for _, steps := range stepsOfAll() {
		b, err := EncodeOp(&turn.Tx{All: true, ID: "t", Steps: steps,
			Conditions: []turn.Condition{{Key: turn.Key{Namespace: "0", Name: "a"}, Is: turn.Absent}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(AppendEntry(nil, 1, []Command{{Op: b}, {Op: b}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := DecodeEntry(b); err == nil {
			for _, c := range e.Commands {
				_, _ = DecodeOp(c.Op)
			}
		}
		if op, err := DecodeOp(b); err == nil {
			again, err := EncodeOp(op)
			if err != nil {
				t.Fatalf("decoded %+v does not encode: %v", op, err)
			}
			if got, err := DecodeOp(again); err != nil || !equal(got, op) {
				t.Fatalf("second round: %+v, %v, want %+v", got, err, op)
			}
		}
		_, _ = DecodeQuery(b)
		_, _ = DecodeResult(b)
		_, _ = DecodeError(b)
	})
}

// stepsOfAll are steps of transactions that take place as a whole.
func stepsOfAll() [][]turn.Step {
	a, b := turn.Key{Namespace: "0", Name: "a"}, turn.Key{Namespace: "0", Name: "b"}
	ms := []turn.NewMessage{{ID: "m", Data: []byte("x")}}
	return [][]turn.Step{
		{{Op: &turn.Pop{Key: a, From: turn.Head, Count: 2}}, {Op: &turn.Append{Key: b, Messages: ms}}},
		{{Op: &turn.EditMessage{Key: a, Message: turn.MessageRef{Seq: 3}, Data: []byte("y")}},
			{Op: &turn.RemoveMessage{Key: a, Message: turn.MessageRef{ID: "m"}}},
			{Op: &turn.Replace{Key: b, From: 2, Messages: ms}}},
		{{Op: &turn.Retain{Key: a, Keep: turn.Retention{Messages: 3}}}, {Op: &turn.Retain{Key: b, All: true}}},
		{{Op: &turn.Rename{Key: a, To: b, Replace: true}}},
	}
}

// What the encoder takes, the decoder takes: the state machine of every node would end
// otherwise, by what one of them was given.
func TestWhatIsEncodedIsDecoded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 100 {
		for _, like := range ops {
			op := random(t, rnd, like)
			anyChoices(rnd, reflect.ValueOf(op))
			b, err := EncodeOp(op.(turn.Op))
			if err != nil {
				refused++
				continue
			}
			if _, err := DecodeOp(b); err != nil {
				t.Fatalf("%+v is encoded, but not decoded: %v", op, err)
			}
		}
	}
	if refused == 0 {
		t.Error("every choice is encoded")
	}
}

// anyChoices sets numbers that stand for a choice to any number.
func anyChoices(rnd *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			anyChoices(rnd, v.Field(i))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			anyChoices(rnd, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			anyChoices(rnd, v.Index(i))
		}
	case reflect.Uint8:
		if v.Type() != reflect.TypeFor[uint8]() {
			v.SetUint(rnd.Uint64N(8))
		}
	}
}

// A length that is announced takes no memory before what it announces has come.
func TestAnnouncedLengthsTakeNoMemory(t *testing.T) {
	const size = 8 << 20
	list := append([]byte{0x92, kindDelete, 0xdd, 0, 0x7f, 0xff, 0xff}, bytes.Repeat([]byte{0xc1}, size)...)
	entry := append(AppendEntry(nil, 1, nil)[:entryHeader], 0xff, 0xff, 0xff, 3) // 8 million commands
	entry = append(entry, bytes.Repeat([]byte{0xff}, size)...)
	for name, decode := range map[string]func() error{
		"list":  func() error { _, err := DecodeOp(list); return err },
		"entry": func() error { _, err := DecodeEntry(entry); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := decode(); err == nil {
			t.Errorf("%s: it is decoded", name)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > size {
			t.Errorf("%s: %d bytes took %d bytes of memory", name, size, took)
		}
	}
}

func BenchmarkOp(b *testing.B) {
	op := &turn.Append{Key: turn.Key{Namespace: "0", Name: "session:12345"},
		Messages: []turn.NewMessage{{ID: "0123456789abcdef", Data: make([]byte, 512)}}}
	wire, err := EncodeOp(op)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = EncodeOp(op)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = DecodeOp(wire)
		}
	})
}
