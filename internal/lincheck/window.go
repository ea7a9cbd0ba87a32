package lincheck

import (
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// idWindow is how many of a session's last messages are known by their ids.
const idWindow = 1024

// repeatedValues returns the values that were appended again on purpose, under the same ids.
func repeatedValues(ops []*history.Operation) map[string]bool {
	found := map[string]bool{}
	for _, op := range ops {
		if op.Call.Again {
			found[op.Call.Values[0]] = true
		}
	}
	return found
}

// repeats tells apart the places at which a message is that was appended again after its id
// had been forgotten: the id of a message is remembered until idWindow messages have
// followed it, and a repetition after that is a new append. Each place counts as
// another value, unless the id cannot have been forgotten in between.
type repeats struct {
	starts   map[string][]uint64 // value → the lowest seq of each append of it
	answered map[string]map[int]bool
}

// splitRepeats returns the operations with names of their own for the values of each append that was
// repeated and took place again.
func splitRepeats(ops []*history.Operation) []*history.Operation {
	values := repeatedValues(ops)
	if len(values) == 0 {
		return ops
	}
	r := repeats{starts: map[string][]uint64{}, answered: map[string]map[int]bool{}}
	r.collect(ops, values)
	var out []*history.Operation
	for _, op := range ops {
		out = append(out, r.rewrite(op)...)
	}
	return out
}

// collect finds the appends of each value.
func (r *repeats) collect(ops []*history.Operation, values map[string]bool) {
	seqs := map[string][]uint64{}
	for _, op := range ops {
		if op.Outcome != history.OK {
			continue
		}
		if op.Call.Func == history.Append && values[op.Call.Values[0]] {
			seqs[op.Call.Values[0]] = append(seqs[op.Call.Values[0]], op.Result.First)
		}
		for _, m := range op.Result.Messages {
			if values[m.Value] {
				seqs[m.Value] = append(seqs[m.Value], m.Seq)
			}
		}
	}
	for value := range values {
		r.answered[value] = map[int]bool{}
		list := seqs[value]
		slices.Sort(list)
		for i, seq := range slices.Compact(list) {
			if i == 0 || seq-list[i-1] > idWindow {
				r.starts[value] = append(r.starts[value], seq)
			}
		}
	}
	for _, op := range ops {
		if op.Outcome == history.OK && op.Call.Func == history.Append && values[op.Call.Values[0]] &&
			!op.Result.Duplicate {
			r.answered[op.Call.Values[0]][r.number(op.Call.Values[0], op.Result.First)] = true
		}
	}
}

// number is which of the appends of value is at seq.
func (r *repeats) number(value string, seq uint64) int {
	at, exact := slices.BinarySearch(r.starts[value], seq)
	if exact || at == 0 {
		return at
	}
	return at - 1
}

func (r *repeats) name(value string, number int) string {
	if number == 0 {
		return value
	}
	return fmt.Sprintf("%s again %d", value, number)
}

// rewrite returns op with the names of the appends that it is about. An append without an answer may be
// any whose answer was lost.
func (r *repeats) rewrite(op *history.Operation) []*history.Operation {
	next := *op
	if op.Call.Func != history.Append {
		next.Result.Messages = slices.Clone(op.Result.Messages)
		for i, m := range next.Result.Messages {
			next.Result.Messages[i].Value = r.name(m.Value, r.number(m.Value, m.Seq))
		}
		return []*history.Operation{&next}
	}
	value := op.Call.Values[0]
	starts := r.starts[value]
	if len(starts) < 2 {
		return []*history.Operation{op}
	}
	if op.Outcome != history.Info {
		return []*history.Operation{r.renamed(op, r.number(value, op.Result.First))}
	}
	var all []*history.Operation
	for i := range starts {
		if !r.answered[value][i] {
			all = append(all, r.renamed(op, i))
		}
	}
	if len(all) == 0 {
		return []*history.Operation{op}
	}
	return all
}

func (r *repeats) renamed(op *history.Operation, number int) *history.Operation {
	next := *op
	next.Call.Values = []string{r.name(op.Call.Values[0], number)}
	return &next
}
