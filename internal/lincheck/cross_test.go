package lincheck

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

var (
	crossSeed   = flag.Uint64("cross.seed", 0, "seed of the first history; 0 picks one")
	crossRounds = flag.Int("cross.rounds", 3000, "histories to judge both ways")
)

func firstSeed() uint64 {
	if *crossSeed != 0 {
		return *crossSeed
	}
	return rand.Uint64()
}

// TestCrossValidation judges random histories, good ones and spoiled ones, with
// the linear checker and by search. They were written independently of each
// other and have to agree.
func TestCrossValidation(t *testing.T) {
	first := firstSeed()
	t.Logf("-cross.seed=%d", first)
	bad, looser := 0, 0
	for i := range *crossRounds {
		seed := first + uint64(i)
		r := rand.New(rand.NewPCG(seed, 1))
		ops := simulate(r, 2+r.IntN(3), 2+r.IntN(5), false)
		spoiled := i%4 != 0
		if spoiled {
			spoil(r, ops)
		}
		linear := Check(values(ops), Options{})
		searched := porcupine.CheckOperationsTimeout(model, searchable(ops), 10*time.Second)
		if searched == porcupine.Unknown {
			t.Fatalf("seed %d: the search did not end", seed)
		}
		switch legal := searched == porcupine.Ok; {
		case linear.Passed() && !legal && ambiguous(ops):
			looser++
		case linear.Passed() && !legal:
			dump(t, ops)
			t.Fatalf("seed %d: the linear checker accepts what the search rejects", seed)
		case !spoiled && !linear.Passed():
			dump(t, ops)
			t.Fatalf("seed %d: a good history is rejected: %v %v", seed, linear.Violations, linear.Undecided)
		case !linear.Passed() && legal && !stricter(linear):
			dump(t, ops)
			t.Fatalf("seed %d: the linear checker rejects what the search accepts: %v %v", seed, linear.Violations,
				linear.Undecided)
		}
		if !linear.Passed() {
			bad++
		}
	}
	t.Logf("%d of %d histories rejected; in %d only the search could tell", bad, *crossRounds, looser)
	if bad < *crossRounds/4 {
		t.Errorf("only %d of %d histories were bad: spoiling has lost its bite", bad, *crossRounds)
	}
	if looser > *crossRounds/50 {
		t.Errorf("the linear checker missed %d of %d", looser, *crossRounds)
	}
}

// TestSearchAcceptsGood and its spoiled twin try the search on histories with
// removals, for which there is no second judge.
func TestSearchOnRemovals(t *testing.T) {
	first := firstSeed()
	t.Logf("-cross.seed=%d", first)
	rejected := 0
	for i := range *crossRounds / 3 {
		seed := first + uint64(i)
		r := rand.New(rand.NewPCG(seed, 2))
		ops := simulate(r, 2+r.IntN(2), 2+r.IntN(5), true)
		if got := porcupine.CheckOperationsTimeout(model, searchable(ops), 10*time.Second); got != porcupine.Ok {
			dump(t, ops)
			t.Fatalf("seed %d: a good history is %s", seed, got)
		}
		spoil(r, ops)
		if porcupine.CheckOperationsTimeout(model, searchable(ops), 10*time.Second) == porcupine.Illegal {
			rejected++
		}
	}
	if rejected < *crossRounds/12 {
		t.Errorf("only %d of %d spoiled histories were rejected", rejected, *crossRounds/3)
	}
}

// ambiguous reports whether a conflict told a revision that no other answer
// pins to a place: the linear checker then knows only a range for it.
func ambiguous(ops []*history.Operation) bool {
	told := map[uint64]bool{0: true}
	for _, op := range ops {
		if op.Outcome == history.OK && !op.Result.Duplicate {
			told[op.Result.Revision] = true
		}
	}
	return slices.ContainsFunc(ops,
		func(op *history.Operation) bool { return isConflict(op) && !told[op.Error.Revision] })
}

// stricter reports whether a rejection rests on what the search cannot see: a
// duplicate is legal for it whichever attempt was the first, and so on.
func stricter(v *Verdict) bool {
	return len(v.Violations) > 0 && slices.Contains([]string{"false duplicate", "doubled", "refused but there"},
		v.Violations[0].Rule)
}

// spoil breaks one thing in a history; not every break makes it illegal.
func spoil(r *rand.Rand, ops []*history.Operation) {
	for range 100 {
		if spoilOne(r, ops[r.IntN(len(ops))]) {
			return
		}
	}
}

func spoilOne(r *rand.Rand, op *history.Operation) bool {
	res := &op.Result
	if op.Outcome == history.Fail && isConflict(op) && r.IntN(2) == 0 {
		op.Error.Revision += r.Uint64N(5) - 2
		return true
	}
	if op.Outcome != history.OK {
		return false
	}
	res.Messages = slices.Clone(res.Messages)
	n := len(res.Messages)
	switch r.IntN(10) {
	case 0: // begins earlier and ends earlier: perhaps it saw the future
		d := op.Return - op.Invoke + r.Int64N(60)
		op.Invoke, op.Return = op.Invoke-d, op.Return-d
	case 1: // later: perhaps it saw the past
		d := op.Return - op.Invoke + r.Int64N(60)
		op.Invoke, op.Return = op.Invoke+d, op.Return+d
	case 2:
		if op.Call.Func != history.Append || res.Duplicate {
			return false
		}
		op.Outcome, op.Error = history.Fail, &history.Error{Code: "UNAVAILABLE"}
	case 3:
		res.Revision += r.Uint64N(5) - 2
	case 4:
		res.Duplicate = !res.Duplicate && op.Call.Func == history.Append
	case 5:
		res.First, res.Last = res.First+1, res.Last+1
	case 6:
		if n == 0 {
			return false
		}
		res.Messages, res.Last, res.Count = res.Messages[:n-1], res.Last-1, res.Count-1
	case 7:
		if n < 2 {
			return false
		}
		i := 1 + r.IntN(n-1)
		res.Messages[i-1].Value, res.Messages[i].Value = res.Messages[i].Value, res.Messages[i-1].Value
	case 8:
		if n == 0 {
			return false
		}
		i := r.IntN(n)
		res.Messages = slices.Delete(res.Messages, i, i+1)
	case 9:
		if op.Call.Func != history.Append {
			return false
		}
		op.Call.Values = append(slices.Clone(op.Call.Values), op.Call.Values[0]+"'")
		res.Last++
		res.Count++
	}
	return true
}

func values(ops []*history.Operation) []history.Operation {
	out := make([]history.Operation, len(ops))
	for i, op := range ops {
		out[i] = *op
	}
	return out
}

func dump(t *testing.T, ops []*history.Operation) {
	for _, op := range ops {
		t.Logf("%3d %6d-%6d %s", op.ID, op.Invoke, op.Return, describeCall(op))
	}
}
