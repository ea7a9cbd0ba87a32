package fsm

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// In whatever order an operation names many elements, also twice, it does what it would do
// with one after the other.
func TestManyNamesInAnyOrder(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	many, single := newRig(t), newRig(t)
	for range 20 {
		set := &turn.SetFields{Key: sessionA, Type: turn.TypeHash, OnlyNew: rnd.IntN(2) == 0}
		gone := &turn.RemoveFields{Key: sessionA, Type: turn.TypeHash}
		for i := range 64 + rnd.IntN(64) { // from 64 on they are put in order
			set.Fields = append(set.Fields, turn.Field{Name: fmt.Sprint(rnd.IntN(100)), Value: fmt.Append(nil, i)})
			gone.Names = append(gone.Names, fmt.Sprint(rnd.IntN(100)))
		}
		got := many.apply(1, set)[0].Result.Number
		for _, f := range set.Fields {
			got -= single.apply(1, &turn.SetFields{Key: sessionA, Type: turn.TypeHash, OnlyNew: set.OnlyNew,
				Fields: []turn.Field{f}})[0].Result.Number
		}
		removed := many.apply(1, &turn.Tx{Steps: stepsOf(gone)})[0].Result.Steps[0].Result.Removed
		for _, name := range gone.Names {
			removed -= single.apply(1,
				&turn.RemoveFields{Key: sessionA, Type: turn.TypeHash, Names: []string{name}})[0].Result.Removed
		}
		if got != 0 || removed != 0 {
			t.Fatalf("%d more fields are new, %d more removed, than one after the other", got, removed)
		}
		all := &turn.AllFields{Key: sessionA, Type: turn.TypeHash}
		if a, b := many.query(all).Elements, single.query(all).Elements; !reflect.DeepEqual(a, b) {
			t.Fatalf("the hash is %v, and one after the other %v", a, b)
		}
	}
}
