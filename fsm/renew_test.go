package fsm

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// renew has the machine go on with a renewal of its own dump, and the model with it.
func (r *rig) renew(m *model) {
	r.t.Helper()
	before := r.incarnations(m)
	var renewed bytes.Buffer
	n := statedump.Renewal{ClusterID: fmt.Sprint("new", r.index)}
	if _, err := statedump.Renew(&renewed, bytes.NewReader(r.dump()), n); err != nil {
		r.t.Fatal(err)
	}
	if err := r.m.Restore(&renewed); err != nil {
		r.t.Fatal(err)
	}
	for k, inc := range r.incarnations(m) {
		if inc != before[k]+n.Jump() {
			r.t.Fatalf("%q has incarnation %d after a renewal, had %d", k, inc, before[k])
		}
	}
	for ns := range m.revisions {
		m.revisions[ns] += n.Jump()
	}
	for i := range layout.RevisionFloors {
		m.floors[layout.FloorAt(i)] += n.Jump()
	}
}

func (r *rig) incarnations(m *model) map[turn.Key]uint64 {
	r.t.Helper()
	got := make(map[turn.Key]uint64)
	for k := range m.sessions {
		if s := r.query(&turn.Info{Key: k}).Session; s != nil {
			got[k] = s.Incarnation
		}
	}
	return got
}

// A state that was renewed at any time answers everything as if it had not been, retries and
// conditions included, but for incarnations and the revisions of what comes after.
func TestRenewalAgainstModel(t *testing.T) {
	runs := 12
	if testing.Short() {
		runs = 3
	}
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 19))
			g := &generator{rnd: rnd, model: newModel()}
			r := newRig(t)
			stamp := int64(1_000_000)
			for i := range 300 {
				if i == 60 {
					r.raise(turn.Level1)
				}
				switch rnd.IntN(12) {
				case 0:
					r.flush()
				case 1, 2:
					if i > 0 { // a state that applied nothing has no description to renew
						r.renew(g.model)
					}
				case 3:
					stamp += turn.TombstoneTime / 4
				case 4:
					r.restart()
				}
				stamp += int64(rnd.IntN(200))
				g.step(r, stamp)
				g.compare(r)
			}
		})
	}
}

// What a client saw of the part that a backup lacks is never true of what takes its place: not its
// revisions, not even in a namespace that the backup does not know, and not its incarnations.
func TestRenewalForgetsNothingThatWasSeen(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "a1", "1"))
	dump := r.dump()
	other := turn.Key{Namespace: "only in what is lost", Name: "b"}
	lost := r.apply(2, appendOf(sessionA, "a2", "lost"), appendOf(other, "b1", "lost"))
	inc := r.query(&turn.Info{Key: other}).Session.Incarnation

	var renewed bytes.Buffer
	member := codec.Member{ID: "n1", Incarnation: "new"}
	n := statedump.Renewal{ClusterID: "cluster", Members: []codec.Member{member}}
	if _, err := statedump.Renew(&renewed, bytes.NewReader(dump), n); err != nil {
		t.Fatal(err)
	}
	again := newRig(t)
	if err := again.m.Restore(&renewed); err != nil {
		t.Fatal(err)
	}
	again.index = 1
	id, members := again.m.ClusterID(), again.m.Members()
	if id != "cluster" || len(members) != 1 || members[0] != member {
		t.Fatalf("the renewed state is of cluster %q with members %v", id, members)
	}
	for i, k := range []turn.Key{sessionA, other} {
		seen := lost[i].Result.Revision
		refused := func(when string) {
			t.Helper()
			o := appendOf(k, "with an old revision", "x")
			o.Expect = &seen
			if out := again.apply(3, o)[0]; out.Err == nil || out.Err.Kind != turn.Conflict {
				t.Errorf("%q, %s: a condition on a revision that is lost answers %+v, %v", k, when, out.Result, out.Err)
			}
		}
		refused("before anything is written")
		for n := range 5 {
			out := again.apply(3, appendOf(k, fmt.Sprint("new", n), "new"))[0]
			if out.Err != nil || out.Result.Revision <= seen {
				t.Errorf("%q: an append has revision %d, error %v; %d was seen", k, out.Result.Revision, out.Err, seen)
			}
			refused("later")
		}
	}
	if got := again.query(&turn.Info{Key: other}).Session.Incarnation; got <= inc {
		t.Errorf("a session made after the renewal has incarnation %d, %d was seen", got, inc)
	}
	retry := again.apply(4, appendOf(sessionA, "a1", "1"))[0]
	if retry.Err != nil || !retry.Result.Duplicate || retry.Result.First != 1 {
		t.Errorf("a retry of what the backup has: %+v, %v", retry.Result, retry.Err)
	}
}

// someDump is of a state that has everything, with an element and a tombstone.
func someDump(t *testing.T) []byte {
	r := newRig(t)
	r.raise(turn.Level1)
	g := &generator{rnd: rand.New(rand.NewPCG(3, 3)), model: newModel()}
	for i := range 120 {
		g.step(r, int64(1_000_000+50*i))
	}
	r.apply(1_100_000, appendOf(sessionA, "id", "payload"))
	r.apply(1_100_000, &turn.Delete{Keys: []turn.Key{sessionA}})
	return r.dump()
}

// No byte of a dump can be flipped, and none of its end be missing, unnoticed.
func TestDamagedDumpIsNeitherInspectedNorRenewed(t *testing.T) {
	dump := someDump(t)
	for what, read := range map[string]func([]byte) error{
		"inspect": func(b []byte) error { _, err := statedump.Inspect(bytes.NewReader(b)); return err },
		"renew": func(b []byte) error {
			_, err := statedump.Renew(io.Discard, bytes.NewReader(b), statedump.Renewal{})
			return err
		},
	} {
		if err := read(dump); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for at := 0; at < len(dump); at += 1 + len(dump)/700 {
			bad := bytes.Clone(dump)
			bad[at] ^= 1 << (at % 8)
			if read(bad) == nil {
				t.Errorf("%s: a flipped bit of byte %d is not noticed", what, at)
			}
			if read(dump[:at]) == nil {
				t.Errorf("%s: an end after %d bytes is not noticed", what, at)
			}
		}
	}
}

func TestInspectDump(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level1)
	for i := range 5 {
		r.apply(10, appendOf(sessionA, fmt.Sprint("a", i), "12345678"))
	}
	b := turn.Key{Namespace: "other", Name: "b"}
	r.apply(11, appendOf(b, "b", "x"))
	r.apply(12, &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 3})
	r.apply(13, &turn.Delete{Keys: []turn.Key{b}})
	c, err := statedump.Inspect(bytes.NewReader(r.dump()))
	if err != nil {
		t.Fatal(err)
	}
	want := statedump.Content{Index: r.index, Term: 1, Clock: 13, Level: turn.Level1, Namespaces: 1, Sessions: 1,
		Messages: 3, Bytes: 24, Tombstones: 1}
	if fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("the dump holds\n %+v, want\n %+v", c, want)
	}
}

// Two clusters that begin with the same backup give out different numbers: what a client saw of one is not true
// of the other.
func TestTwoRenewalsOfOneBackupDiffer(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "a1", "1"))
	seen := map[uint64]bool{}
	for _, id := range []string{"b", "c", "d"} {
		again := renewed(t, r, id)
		inc := again.query(&turn.Info{Key: sessionA}).Session.Incarnation
		rev := again.apply(2, appendOf(sessionA, "a2", "2"))[0].Result.Revision
		if seen[inc] || seen[rev] || inc < 1<<32 || rev < 1<<32 {
			t.Errorf("cluster %s has incarnation %d and revision %d", id, inc, rev)
		}
		seen[inc], seen[rev] = true, true
	}
}

// What a backup still has of keys that were deleted, and the ids of their messages, goes from the new cluster when its
// time has come.
func TestRenewedGarbageIsRemoved(t *testing.T) {
	r := newRig(t)
	const t0 = 1_000_000
	hash := &turn.SetFields{Key: turn.Key{Namespace: "0", Name: "hash"}, Type: turn.TypeHash}
	for i := range store.GarbageChunk + 1 { // more than one flush removes
		hash.Fields = append(hash.Fields, turn.Field{Name: fmt.Sprint(i)})
	}
	r.apply(t0, appendOf(sessionA, "id", "data"), hash)
	r.flush()
	r.apply(t0, &turn.Delete{Keys: []turn.Key{sessionA, hash.Key}})
	r.flush()
	left := [][]byte{layout.BucketBlocks, layout.BucketTombstones, layout.BucketGarbage, layout.BucketElements}
	for _, bucket := range left {
		if r.pairs(bucket) == 0 {
			t.Fatalf("nothing is left in %s", bucket)
		}
	}
	again := renewed(t, r, "new")
	if out := again.apply(t0+1, appendOf(sessionA, "id", "data"))[0]; out.Err != nil || !out.Result.Duplicate {
		t.Errorf("a retry of what was deleted: %+v, %v", out.Result, out.Err)
	}
	again.apply(t0+turn.TombstoneTime, &turn.Clear{Key: sessionA})
	again.settle()
	again.expectEmpty(left...)
}

// Deadlines of a backup pass in the new cluster, at the same times.
func TestRenewedDeadlinesPass(t *testing.T) {
	r := newRig(t)
	const t0 = 1_000_000
	o := appendOf(sessionA, "id", "data")
	o.TTL = 5_000
	r.apply(t0, o)
	again := renewed(t, r, "new")
	if due := again.m.NextDue(); due != t0+5_000 {
		t.Errorf("the next deadline is at %d", due)
	}
	for i, at := range []int64{t0 + 4_999, t0 + 5_000} {
		again.apply(at, &turn.Clear{Key: turn.Key{Namespace: "0", Name: "other"}})
		if got := again.query(&turn.Info{Key: sessionA}).Session != nil; got != (i == 0) {
			t.Errorf("at %d the session is there: %v", at, got)
		}
	}
	again.settle()
	again.expectEmpty(layout.BucketHeads, layout.BucketDue)
}

// renewed returns the state of a new cluster.
func renewed(t *testing.T, r *rig, id string) *rig {
	t.Helper()
	var dump bytes.Buffer
	if _, err := statedump.Renew(&dump, bytes.NewReader(r.dump()), statedump.Renewal{ClusterID: id}); err != nil {
		t.Fatal(err)
	}
	again := newRig(t)
	if err := again.m.Restore(&dump); err != nil {
		t.Fatal(err)
	}
	again.index = r.index
	return again
}

// Of two thousand clusters that begin with one backup, no two give out the same number though each makes a
// million changes; and after 31 renewals numbers are still exact in JSON.
func TestRenewalsStayApart(t *testing.T) {
	const changes = 1 << 20
	var all []uint64
	for i := range 2000 {
		n := statedump.Renewal{ClusterID: fmt.Sprint("cluster ", i)}
		if j := n.Jump(); j < 1<<32 || j > (1<<53-1)/31 {
			t.Errorf("%s raises numbers by %d", n.ClusterID, j)
		} else {
			all = append(all, j)
		}
	}
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i]-all[i-1] < changes {
			t.Errorf("two clusters raise numbers by %d and %d", all[i-1], all[i])
		}
	}
}
