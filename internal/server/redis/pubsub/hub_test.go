package pubsub

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
)

// cluster is the bus among the hubs of nodes.
type cluster struct{ others []*Hub }

func (c *cluster) Broadcast(_ context.Context, message []byte, done func(answers [][]byte)) {
	var answers [][]byte
	for _, h := range c.others {
		answers = append(answers, h.Answer(message))
	}
	done(answers)
}

func (*cluster) Receive(func([]byte) []byte) {}

func (*cluster) Leader() (string, <-chan struct{}) { return "", nil }

// twoNodes returns the hubs of two nodes.
func twoNodes() (a, b *Hub) {
	toA, toB := new(cluster), new(cluster)
	a, b = New(toB), New(toA)
	toA.others, toB.others = []*Hub{a}, []*Hub{b}
	return a, b
}

// inbox keeps what is pushed to it, as RESP3, and has room for so many pushes.
type inbox struct {
	room   int
	pushed []string
	cut    bool
}

func (i *inbox) Receive(p replies.Push) bool {
	if i.room == 0 {
		return false
	}
	i.room--
	var b bytes.Buffer
	w := resp.NewWriter(&b)
	w.SetProtocol(3)
	p.Write(w)
	w.Flush()
	i.pushed = append(i.pushed, strings.ReplaceAll(b.String(), "\r\n", " "))
	return true
}

func (i *inbox) Cut() { i.cut = true }

// purse is memory of so many bytes.
type purse int

func (p *purse) Take(n int) bool {
	if n > int(*p) {
		return false
	}
	*p -= purse(n)
	return true
}

func (p *purse) Give(n int) { *p += purse(n) }

// subscribed returns a subscriber of h with room for 100 pushes.
func subscribed(t *testing.T, h *Hub, kind Kind, namespace string, names ...string) (*Subscriber, *inbox) {
	t.Helper()
	box, memory := &inbox{room: 100}, purse(1<<20)
	s := h.NewSubscriber(box, &memory)
	if err := s.Reserve(kind, namespace, names); err != "" {
		t.Fatal(err)
	}
	s.Subscribe(kind, namespace, names)
	box.pushed = nil
	return &s, box
}

func publish(h *Hub, namespace, channel, payload string) int64 {
	p := &command.Publish{Namespace: namespace, Channel: channel, Payload: []byte(payload)}
	r := h.Publish(context.Background(), p)
	<-r.Done
	return r.Count
}

// A message comes to the subscribers of all nodes, once for each subscription, and within its scope:
// the numbered databases are one, and every other namespace is its own.
func TestMessagesReachAllNodesWithinTheirScope(t *testing.T) {
	a, b := twoNodes()
	_, here := subscribed(t, a, Channels(), "0", "news")
	_, there := subscribed(t, b, Patterns(), "7", "n?ws", "ne*")
	_, apart := subscribed(t, b, Channels(), "tenant", "news")
	if n := publish(a, "3", "news", "hello"); n != 3 {
		t.Errorf("%d received it", n)
	}
	if want := []string{">3 $7 message $4 news $5 hello "}; !slices.Equal(here.pushed, want) {
		t.Errorf("here: %q", here.pushed)
	}
	want := []string{">4 $8 pmessage $4 n?ws $4 news $5 hello ", ">4 $8 pmessage $3 ne* $4 news $5 hello "}
	if !slices.Equal(there.pushed, want) {
		t.Errorf("at the other node: %q", there.pushed)
	}
	if len(apart.pushed) > 0 {
		t.Errorf("in another namespace: %q", apart.pushed)
	}
	if n := publish(a, "tenant", "news", "x"); n != 1 || len(here.pushed) != 1 {
		t.Errorf("%d received what was published in another namespace; here: %q", n, here.pushed)
	}
}

// Questions about channels are answered for all nodes, each name once.
func TestNamesAndCountsOfAllNodes(t *testing.T) {
	a, b := twoNodes()
	subscribed(t, a, Channels(), "0", "x1", "y")
	subscribed(t, b, Channels(), "0", "x1", "x2")
	subscribed(t, b, Patterns(), "0", "p*")
	ctx := t.Context()
	if names := a.Names(ctx, "0", "x*"); !slices.Equal(names, []string{"x1", "x2"}) {
		t.Errorf("channels: %q", names)
	}
	if counts := a.Counts(ctx, "0", []string{"x1", "x2", "none"}); !slices.Equal(counts, []int64{2, 1, 0}) {
		t.Errorf("counts: %d", counts)
	}
	if names := a.Patterns(ctx, "0"); !slices.Equal(names, []string{"p*"}) {
		t.Errorf("patterns: %q", names)
	}
	if names := a.Names(ctx, "other", "*"); len(names) > 0 {
		t.Errorf("channels of another namespace: %q", names)
	}
}

// What is malformed, unknown, or only the cluster's to publish reaches no subscriber.
func TestHostileQuestions(t *testing.T) {
	a, _ := twoNodes()
	_, box := subscribed(t, a, Channels(), "0", "", command.SwitchMaster)
	forged := telling(&message{channel: command.SwitchMaster, payload: []byte("master evil 1 evil 2")})
	for _, asked := range [][]byte{nil, {99}, {99, 0, 1}, {howMany, 0xff}, {whichChannel}, forged} {
		a.Answer(asked)
	}
	if len(box.pushed) > 0 {
		t.Errorf("it received %q", box.pushed)
	}
}

// A subscriber without room is cut, and others still receive.
func TestSubscriberWithoutRoomIsCut(t *testing.T) {
	a, _ := twoNodes()
	_, full := subscribed(t, a, Channels(), "0", "news")
	_, other := subscribed(t, a, Channels(), "0", "news")
	full.room = 1
	publish(a, "0", "news", "1")
	if full.cut {
		t.Error("it was cut although there was room")
	}
	publish(a, "0", "news", "2")
	if !full.cut || other.cut || len(other.pushed) != 2 {
		t.Errorf("cut: %v; the other one: %v, %q", full.cut, other.cut, other.pushed)
	}
}

// Subscriptions are charged once each, within bounds, and all of it is given back.
func TestSubscriptionsAreCharged(t *testing.T) {
	a, _ := twoNodes()
	const all = 4 * TopicOverhead
	box, memory := &inbox{room: 100}, purse(all)
	s := a.NewSubscriber(box, &memory)
	names := []string{"abc", "abc", "de"}
	for range 2 { // the second time costs nothing
		if err := s.Reserve(Channels(), "0", names); err != "" {
			t.Fatal(err)
		}
		s.Subscribe(Channels(), "0", names)
		if used := all - int(memory); used != 2*TopicOverhead+5 || s.Count() != 2 {
			t.Fatalf("%d bytes for %d subscriptions", used, s.Count())
		}
	}
	if err := s.Reserve(Patterns(), "0", []string{"p1", "p2"}); err != command.ErrCrowded {
		t.Errorf("beyond its memory: %q", err)
	}
	if err := s.Reserve(Channels(), "0", make([]string, maxSubscriptions)); !strings.HasPrefix(string(err),
		"TOO_LARGE") {
		t.Errorf("too many: %q", err)
	}
	s.Unsubscribe(Channels(), "0", []string{"abc", "never"})
	if used := all - int(memory); used != TopicOverhead+2 {
		t.Errorf("%d bytes after one has ended", used)
	}
	s.Close()
	channels, patterns := a.Sizes()
	if int(memory) != all || channels+patterns > 0 || publish(a, "0", "de", "x") > 0 {
		t.Errorf("%d bytes are left, %d channels and %d patterns", memory, channels, patterns)
	}
}

// Confirmations say how many subscriptions there are after each name; ending all of none says so, too.
func TestConfirmations(t *testing.T) {
	a, _ := twoNodes()
	s, box := subscribed(t, a, Channels(), "0", "b", "a")
	s.Subscribe(Patterns(), "0", []string{"p"})
	s.Unsubscribe(Channels(), "0", nil)
	s.Unsubscribe(Channels(), "0", nil)
	want := []string{">3 $10 psubscribe $1 p :3 ",
		">3 $11 unsubscribe $1 a :2 >3 $11 unsubscribe $1 b :1 ",
		">3 $11 unsubscribe _ :1 "}
	if !slices.Equal(box.pushed, want) {
		t.Errorf("%q", box.pushed)
	}
}

// While the patterns of one tenant are held against a name, others subscribe and publish.
func TestMatchingDelaysNoOthers(t *testing.T) {
	h, _ := twoNodes()
	memory := purse(1 << 20)
	s := h.NewSubscriber(&inbox{room: 10}, &memory)
	if err := s.Reserve(Patterns(), "a", []string{"p*"}); err != "" {
		t.Fatal(err)
	}
	s.Subscribe(Patterns(), "a", []string{"p*"})
	names := h.among(patternsOf, "a", func(string) bool {
		other := h.NewSubscriber(&inbox{room: 10}, &memory)
		other.Subscribe(Channels(), "b", []string{"c"})
		return h.publish(&message{scope: "b", channel: "c"}) == 1
	})
	if !slices.Equal(names, []string{"p*"}) {
		t.Errorf("of the patterns, %q match", names)
	}
}
