package turnlogtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/turn"
)

// saver keeps a list in a session as agents do that save it whole: with the ids that the messages have. It is the only
// one that writes there, so that it knows what each call must do.
type saver struct {
	t       *testing.T
	session client.Session
	rnd     *rand.Rand
	minted  int
	list    []turn.Message
	gone    []turn.NewMessage // removed at some time
	took    []savedCall
	again   int // how many calls came again
}

// savedCall is a call that took place.
type savedCall struct {
	from     uint64 // 0: it appended
	expect   uint64 // 0: under no condition
	messages []turn.NewMessage
	result   turn.Result
}

// send sends a call until its outcome is known.
func (s *saver) send(ctx context.Context, c *savedCall) turn.Result {
	session := s.session
	if c.expect > 0 {
		session = session.Expect(c.expect)
	}
	for {
		var r turn.Result
		var err error
		if c.from == 0 {
			r, err = session.Append(ctx, c.messages...)
		} else {
			r, err = session.Replace(ctx, c.from, c.messages...)
		}
		switch {
		case err == nil:
			return r
		case ctx.Err() != nil || turn.KindOf(err) != turn.Unknown && turn.KindOf(err) != turn.Unavailable:
			s.t.Fatalf("%+v: %v; the list is %v", c, err, s.list)
		}
	}
}

func (s *saver) fresh() turn.NewMessage {
	s.minted++
	id := fmt.Sprint("m", s.minted)
	return turn.NewMessage{ID: id, Data: []byte("payload of " + id)}
}

// next makes a call that has not taken place.
func (s *saver) next() *savedCall {
	c := &savedCall{}
	if len(s.took) == 0 || s.rnd.IntN(3) == 0 {
		c.messages = append(c.messages, s.fresh(), s.fresh())
		return c
	}
	c.from = 1
	if len(s.list) > 0 {
		c.from = s.list[s.rnd.IntN(len(s.list))].Seq
	}
	used := slices.Clone(s.gone)
	for _, m := range s.list {
		if m.Seq >= c.from {
			used = append(used, turn.NewMessage{ID: m.ID, Data: m.Data})
		}
	}
	kept := func(id string) bool {
		return slices.ContainsFunc(s.list, func(m turn.Message) bool { return m.ID == id && m.Seq < c.from })
	}
	for range s.rnd.IntN(6) {
		if len(used) == 0 {
			break
		}
		n := used[s.rnd.IntN(len(used))]
		if !kept(n.ID) && !slices.ContainsFunc(c.messages, func(m turn.NewMessage) bool { return m.ID == n.ID }) {
			c.messages = append(c.messages, n)
		}
	}
	if c.expect = s.took[len(s.took)-1].result.Revision; len(c.messages) == 0 || s.rnd.IntN(2) == 0 {
		c.expect = 0
		c.messages = append(c.messages, s.fresh()) // else it might be a repeat
	}
	return c
}

// step carries out a call, or one of before once more, and looks at what the session holds.
func (s *saver) step(ctx context.Context) {
	if len(s.took) > 0 && s.rnd.IntN(3) == 0 {
		c := &s.took[s.rnd.IntN(len(s.took))]
		s.again++
		if r := s.send(ctx, c); !r.Duplicate || r.First != c.result.First || r.Last != c.result.Last ||
			r.Revision != c.result.Revision {
			s.t.Fatalf("again %+v: %+v", c, r)
		}
	} else {
		c := s.next()
		c.result = s.send(ctx, c)
		s.took = append(s.took, *c)
		if c.from > 0 {
			i := slices.IndexFunc(s.list, func(m turn.Message) bool { return m.Seq >= c.from })
			for i >= 0 && len(s.list) > i {
				m := s.list[len(s.list)-1]
				s.gone = append(s.gone, turn.NewMessage{ID: m.ID, Data: m.Data})
				s.list = s.list[:len(s.list)-1]
			}
		}
		for i, n := range c.messages {
			s.list = append(s.list, turn.Message{Seq: c.result.First + uint64(i), ID: n.ID, Data: n.Data})
		}
	}
	h, err := s.session.Last(ctx, 1000)
	for turn.KindOf(err) == turn.Unavailable && ctx.Err() == nil {
		h, err = s.session.Last(ctx, 1000)
	}
	same := func(a, b turn.Message) bool {
		return a.Seq == b.Seq && a.ID == b.ID && string(a.Data) == string(b.Data)
	}
	if err != nil || !slices.EqualFunc(h.Messages, s.list, same) {
		s.t.Fatalf("it holds %v, not %v; %v", h.Messages, s.list, err)
	}
}

// Lists that are saved with the ids of their messages are what was saved last, and calls that come again are known,
// while leaders are killed.
func TestSavedListsWhileLeadersAreKilled(t *testing.T) {
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("TURNLOG_KILLS")); err == nil {
		kills = n
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second+time.Duration(kills)*20*time.Second)
	defer cancel()
	cluster := turnlogtest.StartCluster(t)
	c, err := client.New(client.Config{Addrs: cluster.Addrs(), RetryFor: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitLevel(ctx, t, c)
	killed := make(chan error, 1)
	done, stepped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		killed <- killLeaders(ctx, cluster, kills, stepped)
	}()
	t.Run("savers", func(t *testing.T) {
		for w := range 4 {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				saveLists(ctx, t, c, fmt.Sprint("list-", w), stepped, done)
			})
		}
	})
	if err := <-killed; err != nil {
		t.Error(err)
	}
}

// awaitLevel returns when the nodes have told each other that ids may be used again: until then, a replace with those
// of an append is a repeat of it.
func awaitLevel(ctx context.Context, t *testing.T, c *client.Client) {
	for try := 0; ; try++ {
		s := &saver{t: t, session: c.Session(fmt.Sprint("level-", try))}
		call := savedCall{messages: []turn.NewMessage{s.fresh()}}
		s.send(ctx, &call)
		if call.from = 1; !s.send(ctx, &call).Duplicate {
			return
		}
	}
}

// killLeaders kills one after the other, between some steps.
func killLeaders(ctx context.Context, cluster *turnlogtest.Cluster, kills int, stepped <-chan struct{}) error {
	for range kills {
		for range 20 {
			select {
			case <-stepped:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		leader, err := cluster.Leader(ctx)
		if err == nil {
			err = leader.Kill()
		}
		if err == nil {
			err = leader.Restart()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// saveLists saves lists until done is closed, and one at least.
func saveLists(
	ctx context.Context, t *testing.T, c *client.Client, name string, stepped chan<- struct{}, done <-chan struct{},
) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	calls, again := 0, 0
	for round := 0; ; round++ {
		s := &saver{t: t, session: c.Session(fmt.Sprint(name, "-", round)), rnd: rnd}
		for range 60 { // what is remembered of a session has an end
			s.step(ctx)
			select {
			case stepped <- struct{}{}:
			default:
			}
		}
		calls, again = calls+60, again+s.again
		select {
		case <-done:
			t.Logf("%d calls, %d of them again", calls, again)
			return
		default:
		}
	}
}
