package fsm

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// rig drives a machine by hand: entries are numbered, flushes happen when the
// test says so.
type rig struct {
	t     testing.TB
	dir   string
	disk  store.Disk // nil: real
	m     *Machine
	index uint64
	log   [][]byte // entries applied, from index 1
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, dir: t.TempDir()}
	r.open()
	t.Cleanup(func() { _ = r.m.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	m, err := Open(Config{
		Dir: r.dir, FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler),
		disk: r.disk, BlockFileBytes: 16 << 10, // so that there are many
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.m = m
}

// restart loses what was not flushed and recovers it from the log.
func (r *rig) restart() {
	r.t.Helper()
	if err := r.m.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.open()
	for i, e := range r.log {
		r.m.Apply(uint64(i+1), 1, bytes.Clone(e))
	}
}

// flush flushes, and forgets what was flushed, so that it is read from the store.
func (r *rig) flush() {
	r.t.Helper()
	r.flushWarm()
	r.m.mu.Lock()
	r.m.keys.Tables.Warm = nil
	r.m.mu.Unlock()
}

// flushWarm flushes as in earnest: what was flushed last stays in memory.
func (r *rig) flushWarm() {
	r.t.Helper()
	if err := r.m.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.m.tidy(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) apply(stamp int64, ops ...turn.Op) []Outcome {
	r.t.Helper()
	var cmds []codec.Command
	for _, op := range ops {
		b, err := codec.EncodeOp(op)
		if err != nil {
			r.t.Fatal(err)
		}
		cmds = append(cmds, codec.Command{Op: b})
	}
	return r.applyCommands(stamp, cmds...)
}

func (r *rig) applyCommands(stamp int64, cmds ...codec.Command) []Outcome {
	r.t.Helper()
	e := codec.AppendEntry(nil, stamp, cmds)
	r.log = append(r.log, bytes.Clone(e))
	r.index++
	out := r.m.Apply(r.index, 1, e)
	if err := r.m.Err(); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) query(q turn.Query) turn.Result {
	r.t.Helper()
	res, err := r.m.Query(q)
	if err != nil {
		r.t.Fatalf("%+v: %v", q, err)
	}
	return res
}

// hash returns the state hash as of now.
func (r *rig) hash() string {
	r.t.Helper()
	r.flush()
	r.apply(0, &codec.Checksum{})
	r.flush()
	index, sum := r.m.StateHash()
	if index != r.index || sum == "" {
		r.t.Fatalf("hash %q at %d, want one at %d", sum, index, r.index)
	}
	return sum
}

// dump returns a dump of everything applied.
func (r *rig) dump() []byte {
	r.t.Helper()
	r.flush()
	d, err := r.m.Dump()
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var b bytes.Buffer
	if _, err := d.WriteTo(&b); err != nil {
		r.t.Fatal(err)
	}
	if int64(b.Len()) != d.Size || d.Index != r.index {
		r.t.Fatalf("dump of %d bytes at %d announced as %d bytes at %d", b.Len(), r.index, d.Size, d.Index)
	}
	return b.Bytes()
}

// generator makes random operations on few sessions, with few ids, so that
// everything collides.
type generator struct {
	rnd   *rand.Rand
	model *model
	sent  []turn.Op
	next  func() turn.Op // nil: op
}

func (g *generator) key() turn.Key {
	return turn.Key{Namespace: []string{"0", "1"}[g.rnd.IntN(2)],
		Name: []string{"a", "b", "a\x00b", "ab"}[g.rnd.IntN(4)]}
}

func (g *generator) expect(k turn.Key) *uint64 {
	rev := uint64(0)
	if s := g.model.sessions[k]; s != nil {
		rev = s.revision
	}
	switch g.rnd.IntN(8) {
	case 0:
		return &rev
	case 1:
		rev = uint64(g.rnd.IntN(50))
		return &rev
	}
	return nil
}

func (g *generator) messages(least int) []turn.NewMessage {
	ms := make([]turn.NewMessage, least+g.rnd.IntN(4))
	for i := range ms {
		ms[i].Data = bytes.Repeat([]byte{byte('a' + g.rnd.IntN(3))}, g.rnd.IntN(5))
		if g.rnd.IntN(40) == 0 {
			ms[i].Data = bytes.Repeat(ms[i].Data, 2000)
		} else if g.rnd.IntN(6) == 0 {
			ms[i].Data = g.toolMessage()
		}
		if g.rnd.IntN(2) == 0 {
			ms[i].ID = fmt.Sprint("id", g.rnd.IntN(1_000_000))
		}
	}
	return ms
}

func (g *generator) op() turn.Op {
	if len(g.sent) > 0 && g.rnd.IntN(5) == 0 {
		return g.sent[len(g.sent)-1-g.rnd.IntN(min(len(g.sent), 30))] // a retry
	}
	if g.rnd.IntN(8) == 0 {
		if op := g.afterRename(); op != nil {
			return op
		}
	}
	op := g.fresh()
	g.sent = append(g.sent, op)
	return op
}

func (g *generator) fresh() turn.Op {
	switch g.rnd.IntN(12) {
	case 0:
		return g.tx()
	case 1:
		return g.txAll()
	}
	return g.simple()
}

func (g *generator) simple() turn.Op {
	k := g.key()
	if g.rnd.IntN(3) == 0 {
		if g.rnd.IntN(8) > 0 {
			k.Name = []string{"v", "w", "x"}[g.rnd.IntN(3)] // where values can grow in peace
		}
		return g.value(k)
	}
	switch g.rnd.IntN(20) {
	case 9:
		return g.retain(k)
	case 10:
		return g.rename(k)
	case 6, 7:
		return g.listEdit(k)
	case 8:
		return g.messageEdit(k)
	case 0:
		return &turn.Pop{Key: k, From: turn.Side(g.rnd.IntN(3)), Count: 1 + uint64(g.rnd.IntN(6)), Expect: g.expect(k),
			List: g.rnd.IntN(2) == 0}
	case 1:
		return &turn.Trim{Key: k, By: turn.TrimBy(g.rnd.IntN(3)), N: uint64(g.rnd.IntN(40)),
			Start: int64(g.rnd.IntN(40) - 20), Stop: int64(g.rnd.IntN(60) - 20), Expect: g.expect(k)}
	case 2:
		from := uint64(1 + g.rnd.IntN(60))
		if s := g.model.sessions[k]; s != nil && g.rnd.IntN(3) > 0 {
			from = max(1, s.last-min(s.last, uint64(g.rnd.IntN(4))))
		}
		messages := g.messages(0)
		if g.rnd.IntN(2) == 0 {
			messages = g.inUse(k)
		}
		return &turn.Replace{Key: k, From: from, Messages: messages, Expect: g.expect(k)}
	case 3:
		if g.rnd.IntN(3) == 0 {
			return &turn.Clear{Key: k, Expect: g.expect(k)}
		}
		if g.rnd.IntN(8) == 0 {
			k.Name = []string{"v", "w", "x"}[g.rnd.IntN(3)]
		}
		return &turn.Delete{Keys: []turn.Key{k, g.key()}, List: g.rnd.IntN(2) == 0}
	case 4:
		if g.rnd.IntN(3) == 0 {
			k.Name = []string{"v", "w", "x"}[g.rnd.IntN(3)]
		}
		e := &turn.Expire{Key: k, If: turn.ExpireIf(g.rnd.IntN(6)), Expect: g.expect(k), List: g.rnd.IntN(2) == 0}
		switch g.rnd.IntN(4) {
		case 0:
			e.HasTTL, e.TTL = true, int64(g.rnd.IntN(2000)-50)
		case 1:
			e.HasTTL, e.TTL, e.Slide = true, int64(1+g.rnd.IntN(2000)), true
		case 2:
			e.HasAt, e.At = true, g.model.clock+int64(g.rnd.IntN(2000)-50)
		default:
			e.If = turn.Always
		}
		return e
	case 5:
		to := g.key()
		if to == k || to.Namespace != k.Namespace {
			set, unset := g.metadata()
			return &turn.SetMetadata{Key: k, Set: set, Unset: unset, Expect: g.expect(k)}
		}
		return &turn.Fork{Key: k, To: to, At: uint64(g.rnd.IntN(30)), Expect: g.expect(k)}
	default:
		if g.rnd.IntN(4) == 0 {
			return g.pushOnce(k)
		}
		a := &turn.Append{Key: k, Messages: g.messages(1), Expect: g.expect(k), OnlyExisting: g.rnd.IntN(10) == 0}
		if g.rnd.IntN(3) == 0 {
			a.Side = turn.Head
		}
		if g.rnd.IntN(6) == 0 {
			a.TTL = int64(1 + g.rnd.IntN(3000))
		}
		if g.rnd.IntN(6) == 0 {
			a.MustExist = g.rnd.IntN(2) == 0
			a.Set, a.Unset = g.metadata()
		}
		return a
	}
}

func (g *generator) listEdit(k turn.Key) turn.Op {
	data := bytes.Repeat([]byte{byte('a' + g.rnd.IntN(3))}, g.rnd.IntN(3))
	switch g.rnd.IntN(5) {
	case 4:
		to := k
		if g.rnd.IntN(3) == 0 {
			to.Name = g.key().Name
		}
		return &turn.MoveElement{Key: k, To: to, From: turn.Side(g.rnd.IntN(2)), On: turn.Side(g.rnd.IntN(2))}
	case 0:
		return &turn.InsertElement{Key: k, Pivot: data, After: g.rnd.IntN(2) == 0, Data: []byte("inserted")}
	case 1:
		return &turn.RemoveElements{Key: k, Count: int64(g.rnd.IntN(5) - 2), Data: data}
	}
	return &turn.SetElement{Key: k, Index: int64(g.rnd.IntN(30) - 15), Data: data}
}

// step sends one entry of random operations to machine and model and compares
// what they answer.
func (g *generator) step(r *rig, stamp int64) {
	r.t.Helper()
	g.model.advance(stamp)
	var ops []turn.Op
	var want []turn.Result
	var wantErr []*turn.Error
	next := g.op
	if g.next != nil {
		next = g.next
	}
	for range 1 + g.rnd.IntN(4) {
		op := next()
		res, err := g.model.apply(op)
		ops, want, wantErr = append(ops, op), append(want, res), append(wantErr, err)
	}
	for i, out := range r.apply(stamp, ops...) {
		if e := wantErr[i]; e != nil || out.Err != nil {
			if e == nil || out.Err == nil || e.Kind != out.Err.Kind || e.Revision != out.Err.Revision ||
				e.Condition != out.Err.Condition || e.Step != out.Err.Step {
				r.t.Fatalf("entry %d: %T %+v:\n got error %v\nwant error %v", r.index, ops[i], ops[i], out.Err, e)
			}
			continue
		}
		out.Result.Index, out.Result.Time = 0, 0
		if tx, ok := ops[i].(*turn.Tx); ok && !tx.All {
			answersOnly(tx, out.Result.Steps)
		}
		if !sameResult(out.Result, want[i]) {
			r.t.Fatalf("entry %d: %T %+v:\n got %+v\nwant %+v", r.index, ops[i], ops[i], out.Result, want[i])
		}
	}
}

// sameResult compares answers; errors of steps by their kinds.
func sameResult(a, b turn.Result) bool {
	return reflect.DeepEqual(plain(a), plain(b))
}

// plain makes no difference between what is empty and what is nil.
func plain(r turn.Result) turn.Result {
	r.Messages = append([]turn.Message{}, r.Messages...)
	for i := range r.Messages {
		r.Messages[i].Data = append([]byte{}, r.Messages[i].Data...)
	}
	r.Steps = append([]turn.Outcome{}, r.Steps...)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Result = plain(s.Result); s.Err != nil {
			s.Err = &turn.Error{Kind: s.Err.Kind, Revision: s.Err.Revision}
		}
	}
	r.Value = append([]byte{}, r.Value...)
	r.Elements = append([]turn.Element{}, r.Elements...)
	for i := range r.Elements {
		r.Elements[i].Value = append([]byte{}, r.Elements[i].Value...)
	}
	r.Entries = append([]turn.Entry{}, r.Entries...)
	for i := range r.Entries {
		fs := slices.Clone(r.Entries[i].Fields)
		for j := range fs {
			fs[j].Value = append([]byte{}, fs[j].Value...)
		}
		r.Entries[i].Fields = fs
	}
	return r
}

func sameMessages(a, b []turn.Message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Seq != b[i].Seq || a[i].Time != b[i].Time || a[i].ID != b[i].ID || !bytes.Equal(a[i].Data, b[i].Data) {
			return false
		}
	}
	return true
}

// compare holds everything that can be read of the machine against the model.
func (g *generator) compare(r *rig) {
	r.t.Helper()
	for _, ns := range []string{"0", "1"} {
		held := uint64(0)
		for k, s := range g.model.sessions {
			if k.Namespace != ns {
				continue
			}
			if s.held() {
				held++
			}
			if s.typ == turn.TypeList {
				g.compareSession(r, k, s)
			} else {
				g.compareValue(r, k, s)
			}
		}
		if got := r.query(&turn.Count{Namespace: ns}).Count; got != held {
			r.t.Fatalf("namespace %s has %d keys, want %d", ns, got, held)
		}
		g.compareKeys(r, turn.Sessions{Namespace: ns}, func(s *modelSession) bool { return s.typ == turn.TypeList })
		g.compareKeys(r, turn.Sessions{Namespace: ns, List: true}, (*modelSession).held)
		typ := turn.Type(1 + g.rnd.IntN(6))
		g.compareKeys(r, turn.Sessions{Namespace: ns, List: true, Type: typ},
			func(s *modelSession) bool { return s.held() && s.typ == typ })
		g.compareLabels(r, ns)
		g.compareSeveral(r, ns)
	}
}

// compareKeys holds a list of keys, page by page, against those of the model that
// are wanted.
func (g *generator) compareKeys(r *rig, q turn.Sessions, wanted func(*modelSession) bool) {
	r.t.Helper()
	want := make(map[turn.Key]turn.Type)
	for k, s := range g.model.sessions {
		if k.Namespace == q.Namespace && wanted(s) {
			want[k] = s.typ
		}
	}
	got := make(map[turn.Key]turn.Type)
	for q.Limit = 2; ; {
		page := r.query(&q)
		for _, s := range page.Sessions {
			got[s.Key] = s.Type
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if !maps.Equal(got, want) {
		r.t.Fatalf("%+v lists %v, want %v", q, got, want)
	}
}

func (g *generator) compareSession(r *rig, k turn.Key, s *modelSession) {
	r.t.Helper()
	all := s.bySeq()
	size := uint64(0)
	for _, m := range all {
		size += uint64(len(m.Data))
	}
	got := r.query(&turn.Read{Key: k})
	if !sameMessages(got.Messages, all) {
		r.t.Fatalf("%q holds\n %v, want\n %v", k, seqs(got.Messages), seqs(all))
	}
	first := uint64(0)
	if len(all) > 0 {
		first = all[0].Seq
	}
	i := got.Session
	if i.Count != uint64(len(all)) || i.Bytes != size || i.First != first || i.Last != s.last ||
		i.Revision != s.revision ||
		i.Retention != s.keep || i.ExpiresAt != s.deadline || i.Slide != s.slide || len(i.Metadata) != len(s.meta) {
		r.t.Fatalf("%q is %+v, want %+v with %d bytes", k, *i, *s, size)
	}
	for range 3 {
		a, b := int64(g.rnd.IntN(20)-10), int64(g.rnd.IntN(20)-10)
		if got := r.query(&turn.List{Key: k, Start: a, Stop: b}); !sameMessages(got.Messages,
			modelRange(s.list, a, b)) {
			r.t.Fatalf("%q: list %d %d is %v, want %v", k, a, b, seqs(got.Messages), seqs(modelRange(s.list, a, b)))
		}
		n, at := 1+g.rnd.IntN(8), uint64(g.rnd.IntN(int(s.last)+2))
		var after, before []turn.Message
		for _, m := range all {
			if m.Seq > at && len(after) < n {
				after = append(after, m)
			}
			if m.Seq < at {
				before = append(before, m)
			}
		}
		if got := r.query(&turn.Read{Key: k, From: turn.FromAfter, Seq: at,
			Limit: n}); !sameMessages(got.Messages, after) {
			r.t.Fatalf("%q: %d after %d are %v, want %v", k, n, at, seqs(got.Messages), seqs(after))
		}
		before = before[max(0, len(before)-n):]
		if got := r.query(&turn.Read{Key: k, From: turn.FromBefore, Seq: at,
			Limit: n}); !sameMessages(got.Messages, before) {
			r.t.Fatalf("%q: %d before %d are %v, want %v", k, n, at, seqs(got.Messages), seqs(before))
		}
		last := all[max(0, len(all)-n):]
		if got := r.query(&turn.Read{Key: k, Limit: n}); !sameMessages(got.Messages, last) {
			r.t.Fatalf("%q: last %d are %v, want %v", k, n, seqs(got.Messages), seqs(last))
		}
	}
}

func seqs(ms []turn.Message) (out []uint64) {
	for _, m := range ms {
		out = append(out, m.Seq)
	}
	return out
}

// raises returns the steps at which the cluster level rises, and to what: at once to the newest one, through
// each, or to the second only.
func raises(seed uint64, steps int) map[int]turn.ClusterLevel {
	return []map[int]turn.ClusterLevel{
		{0: turn.NewestLevel},
		{steps / 5: turn.Level2, steps * 2 / 5: turn.Level3, steps * 3 / 5: turn.Level4, steps * 4 / 5: turn.Level5},
		{0: turn.Level2},
		nil,
	}[seed%4]
}

// TestAgainstModel runs random operations through the machine and a naive model
// of it, with flushes, restarts and restores in between, and compares every
// answer and, at every step, everything that can be read.
func TestAgainstModel(t *testing.T) {
	runs, steps := 12, 400
	if testing.Short() {
		runs = 3
	}
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			g := &generator{rnd: rnd, model: newModel()}
			r := newRig(t)
			stamp := int64(1_000_000)
			for i := range steps {
				if level, ok := raises(seed, steps)[i]; ok {
					r.raise(level)
					g.model.level = level
				}
				switch rnd.IntN(12) {
				case 0:
					r.flush()
				case 4:
					r.flushWarm()
				case 1:
					r.restart()
				case 2:
					if rnd.IntN(4) == 0 {
						if err := r.m.Restore(bytes.NewReader(r.dump())); err != nil {
							t.Fatal(err)
						}
					}
				case 3:
					stamp += turn.TombstoneTime / 4
				}
				stamp += int64(rnd.IntN(200))
				g.step(r, stamp)
				g.compare(r)
			}
		})
	}
}

// TestHashAtEveryIndex holds a machine that never flushes, one that is flushed
// after every entry, and one that begins again from the other's dump at every
// index to the same hash of the whole state.
func TestHashAtEveryIndex(t *testing.T) {
	g := &generator{rnd: rand.New(rand.NewPCG(7, 7)), model: newModel()}
	a, b := newRig(t), newRig(t)
	stamp := int64(1_000_000)
	for i := range 150 {
		levels := map[int]turn.ClusterLevel{40: turn.Level2, 70: turn.Level3, 90: turn.Level4, 120: turn.Level5}
		if level, ok := levels[i]; ok {
			a.raise(level)
			g.model.level = level
		}
		stamp += int64(g.rnd.IntN(300))
		g.step(a, stamp)
		b.applyLog(a.log[len(b.log):])
		c := newRig(t)
		if err := c.m.Restore(bytes.NewReader(b.dump())); err != nil {
			t.Fatal(err)
		}
		c.index, c.log = b.index, b.log
		if i%10 == 9 {
			b.restart()
		}
		if i%15 != 14 {
			continue
		}
		want := a.hash()
		if got := b.hash(); got != want {
			t.Fatalf("entry %d: hash %s flushed each time, %s without", a.index, got, want)
		}
		if got := c.hash(); got != want {
			t.Fatalf("entry %d: hash %s after a restore, %s without", a.index, got, want)
		}
	}
}

func (r *rig) applyLog(entries [][]byte) {
	for _, e := range entries {
		r.log = append(r.log, e)
		r.index++
		r.m.Apply(r.index, 1, bytes.Clone(e))
	}
}
