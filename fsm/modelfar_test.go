package fsm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// far makes operations on sessions of thousands of messages, few of which have ids: what is
// appended, moved and retried lies about as far back as ids are remembered.
type far struct {
	*generator
	made int                    // payloads so far: each is another
	sent map[turn.Key][]turn.Op // appends with ids
}

func (f *far) key() turn.Key {
	return turn.Key{Namespace: "0", Name: []string{"a", "b"}[f.rnd.IntN(2)]}
}

func (f *far) data() []byte {
	f.made++
	return []byte(fmt.Sprint(f.made))
}

func (f *far) op() turn.Op {
	k := f.key()
	if s := f.model.sessions[k]; s != nil && len(s.list) > 3*turn.IDWindow {
		return &turn.Trim{Key: k, By: turn.KeepLast, N: uint64(f.rnd.IntN(2 * turn.IDWindow))}
	}
	switch f.rnd.IntN(12) {
	case 0, 1:
		return f.append(k, 1+f.rnd.IntN(turn.IDWindow+100), 0)
	case 2, 3:
		return f.append(k, 1+f.rnd.IntN(3), 1)
	case 4:
		return f.append(k, 1+f.rnd.IntN(100), 5)
	case 5, 6, 7:
		if sent := f.sent[k]; len(sent) > 0 {
			return sent[f.rnd.IntN(len(sent))]
		}
	case 8:
		return f.generator.simpleOn(k)
	}
	return f.edit(k)
}

// append makes an append of n messages, of which one in every has an id; 0: none has.
func (f *far) append(k turn.Key, n, every int) turn.Op {
	a := &turn.Append{Key: k}
	if every > 0 { // else those with ids stay at an end, where edits move them
		a.Side = turn.Side(f.rnd.IntN(2))
	}
	for i := range n {
		m := turn.NewMessage{Data: f.data()}
		if every > 0 && i%every == 0 {
			m.ID = "id" + string(m.Data)
		}
		a.Messages = append(a.Messages, m)
	}
	if every > 0 {
		f.sent[k] = append(f.sent[k], a)
	}
	return a
}

// edit makes an edit close to an end of the list, or anywhere in it.
func (f *far) edit(k turn.Key) turn.Op {
	s := f.model.sessions[k]
	if s == nil || len(s.list) == 0 {
		return f.append(k, 10, 2)
	}
	at := f.rnd.IntN(min(20, len(s.list)))
	switch f.rnd.IntN(5) {
	case 0:
		at = f.rnd.IntN(len(s.list))
	case 1, 2:
		at = len(s.list) - 1 - at
	}
	switch f.rnd.IntN(7) {
	case 2, 3:
		return f.messageEdit(k)
	case 0:
		return &turn.SetElement{Key: k, Index: int64(at), Data: f.data()}
	case 1:
		return &turn.RemoveElements{Key: k, Count: 1, Data: s.list[at].Data}
	}
	return &turn.InsertElement{Key: k, Pivot: s.list[at].Data, After: f.rnd.IntN(2) == 0, Data: f.data()}
}

// simpleOn makes an operation that is rare, on a key.
func (g *generator) simpleOn(k turn.Key) turn.Op {
	switch g.rnd.IntN(6) {
	case 0:
		return &turn.Delete{Keys: []turn.Key{k}}
	case 1:
		return &turn.Trim{Key: k, By: turn.KeepLast, N: uint64(g.rnd.IntN(2 * turn.IDWindow))}
	case 2:
		return &turn.Fork{Key: k, To: turn.Key{Namespace: "0", Name: fmt.Sprint("fork", g.rnd.IntN(1000))}}
	}
	return &turn.Pop{Key: k, From: turn.Side(g.rnd.IntN(3)), Count: 1 + uint64(g.rnd.IntN(4))}
}

// forget has the machine read again what it keeps in memory besides the state.
func (r *rig) forget(rnd *rand.Rand) {
	switch rnd.IntN(6) {
	case 0:
		r.flush()
	case 1:
		r.flush()
		r.restart()
	case 2:
		r.m.mu.Lock()
		r.m.sessions.IDs.Windows.ShrinkTo(0) // all but one
		r.m.mu.Unlock()
	}
}

// What is remembered of ids as far back as they are is the same on a machine that keeps all
// in memory and on one that keeps forgetting, and what the model says.
func TestAgainstModelFarBack(t *testing.T) {
	runs, steps := 8, 150
	if testing.Short() {
		runs = 2
	}
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			f := &far{generator: &generator{rnd: rnd, model: newModel()}, sent: make(map[turn.Key][]turn.Op)}
			keeps, forgets := newRig(t), newRig(t)
			f.next = f.op
			stamp := int64(1_000_000)
			for i := range steps {
				stamp += int64(rnd.IntN(200))
				f.step(keeps, stamp)
				forgets.applyLog(keeps.log[len(forgets.log):])
				forgets.forget(rnd)
				if i%15 != 14 {
					continue
				}
				f.compare(keeps)
				if a, b := storedHash(t, keeps), storedHash(t, forgets); a != b {
					t.Fatalf("entry %d: state %s where all is kept, %s where not", keeps.index, a, b)
				}
			}
		})
	}
}

// storedHash is that of a copy of the state, so that the machine forgets nothing by it.
func storedHash(t *testing.T, r *rig) string {
	t.Helper()
	if err := r.m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return storeHash(t, r.m)
}

// Whether a retry is known does not depend on whether the window of ids was kept in memory,
// although no id was in it for a while, when messages were moved.
func TestMovesOutlastAWindowWithoutIDs(t *testing.T) {
	type answer struct {
		duplicate bool
		hash      string
	}
	run := func(restart bool) (got []answer) {
		r := newRig(t)
		r.do(appendOf(sessionA, "a", "A"))
		r.do(appendOf(sessionA, "b", "B"))
		for range turn.IDWindow + 76 {
			r.do(appendOf(sessionA, "", "x"))
		}
		for i := range 5 {
			r.do(&turn.InsertElement{Key: sessionA, Pivot: []byte("A"), After: true, Data: []byte("new")})
			r.do(appendOf(sessionA, fmt.Sprint("c", i), "C"))
			if restart {
				r.flush()
				r.restart()
			}
			again := r.apply(2, appendOf(sessionA, "a", "A"))[0]
			got = append(got, answer{again.Result.Duplicate, r.hash()})
		}
		return got
	}
	kept, restarted := run(false), run(true)
	for i := range kept {
		if kept[i] != restarted[i] {
			t.Errorf("edit %d: a retry has %+v, and %+v after restarts", i, kept[i], restarted[i])
		}
	}
}
