package turn

import "testing"

// Steps that depend on which messages a session holds come while that is known, and a renamed key has no other step.
// Of what is rejected, the error says which step it is.
func TestOrderOfStepsInATransactionAsAWhole(t *testing.T) {
	l, one := DefaultLimits(), uint64(1)
	key := func(name string) Key { return Key{Namespace: "0", Name: name} }
	k, other, first := key("k"), key("other"), MessageRef{Seq: 1}
	add := func(k Key, id string) Op { return &Append{Key: k, Messages: []NewMessage{{ID: id}}} }
	edit, remove := &EditMessage{Key: k, Message: first}, &RemoveMessage{Key: k, Message: first}
	pop, turns := &Pop{Key: k, Count: 1}, &Retain{Key: k, Keep: Retention{Turns: 1}}
	replace := &Replace{Key: k, From: 1, Messages: []NewMessage{{ID: "a"}}}
	rename := &Rename{Key: k, To: other}
	many := make([]NewMessage, l.AppendMessages)
	for what, x := range map[string]struct {
		steps []Op
		step  int // that is rejected; 0: none, −1: all of them together
	}{
		"what may come after what": {[]Op{edit, remove, edit, add(k, "b"),
			&Retain{Key: k, Keep: Retention{Messages: 1}},
			replace, &Delete{Keys: []Key{k}}, pop, &Rename{Key: other, To: key("to"), Replace: true}}, 0},
		"turns, then messages":     {[]Op{&SetMetadata{Key: k}, &Expire{Key: k}, turns, add(k, "a")}, 0},
		"messages, then turns":     {[]Op{add(k, "a"), turns}, 2},
		"an edit, then turns":      {[]Op{edit, turns}, 2},
		"messages, then a pop":     {[]Op{add(k, "a"), pop}, 2},
		"a removal, then a pop":    {[]Op{remove, pop}, 2},
		"two pops":                 {[]Op{pop, pop}, 2},
		"pops of two sessions":     {[]Op{pop, &Pop{Key: other, Count: 1}}, 0},
		"a pop, then an edit":      {[]Op{pop, edit}, 2},
		"turns, then an edit":      {[]Op{turns, edit}, 2},
		"a clear, then a removal":  {[]Op{&Clear{Key: k}, remove}, 2},
		"a trim, then an edit":     {[]Op{&Trim{Key: k}, edit}, 2},
		"a retention, then one":    {[]Op{&Retain{Key: k, Keep: Retention{Messages: 1}}, edit}, 2},
		"messages, then an edit":   {[]Op{add(k, "b"), edit}, 2},
		"messages elsewhere":       {[]Op{add(other, "b"), edit}, 0},
		"a replacement, then one":  {[]Op{replace, edit}, 2},
		"a renamed key with more":  {[]Op{add(k, "a"), rename}, 2},
		"one with more to come":    {[]Op{rename, add(k, "a")}, 2},
		"more where it goes":       {[]Op{rename, &SetMetadata{Key: other}}, 2},
		"a key renamed twice":      {[]Op{rename, &Rename{Key: other, To: key("to")}}, 2},
		"a key renamed to itself":  {[]Op{&Rename{Key: k, To: k, Replace: true, List: true}, add(other, "a")}, 0},
		"one to another namespace": {[]Op{&Rename{Key: k, To: Key{Namespace: "1", Name: "k"}}}, 1},
		"an id in both":            {[]Op{replace, add(k, "a")}, 2},
		"too many messages":        {[]Op{&Replace{Key: k, From: 1, Messages: many}, add(k, "b")}, -1},
		"a pop at a revision":      {[]Op{&Pop{Key: k, Count: 1, Expect: &one}}, 1},
		"an edit at one":           {[]Op{&EditMessage{Key: k, Message: first, Expect: &one}}, 1},
		"a removal at one":         {[]Op{&RemoveMessage{Key: k, Message: first, Expect: &one}}, 1},
		"a replacement at one":     {[]Op{&Replace{Key: k, From: 1, Expect: &one}}, 1},
		"a retention at one":       {[]Op{&Retain{Key: k, All: true, Expect: &one}}, 1},
		"a renaming at one":        {[]Op{&Rename{Key: k, To: other, Expect: &one}}, 1},
	} {
		tx := &Tx{All: true}
		for _, op := range x.steps {
			tx.Steps = append(tx.Steps, Step{Op: op})
		}
		err := tx.Validate(l)
		if (err == nil) != (x.step == 0) || err != nil && AsError(err).Step != max(x.step, 0) {
			t.Errorf("%s: %v, want that of step %d", what, err, x.step)
		}
	}
}
