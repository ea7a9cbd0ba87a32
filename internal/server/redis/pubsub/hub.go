package pubsub

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/glob"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
)

// Hub knows this node's subscribers and hands them what is published. Its methods may be called by
// any goroutine.
type Hub struct {
	bus Bus

	mu       sync.Mutex
	channels index
	patterns index
}

// Receiver is what messages are pushed to. Any goroutine may call its methods; they do not block.
type Receiver interface {
	// Receive reports false if there was no room: then nothing is pushed from now on.
	Receive(replies.Push) bool
	// Cut ends a connection that has no room left.
	Cut()
}

// index holds subscribers by scope and by name of channel or pattern.
type index map[string]map[string]subscribers

type subscribers map[*Subscriber]struct{}

// topic is a channel or pattern of a scope.
type topic struct{ scope, name string }

// scopeOf returns the space of channels of a namespace: the numbered databases
// share one, as in Redis, every other namespace has its own.
func scopeOf(namespace string) string {
	if db, err := strconv.Atoi(namespace); err == nil && 0 <= db && db < command.Databases &&
		strconv.Itoa(db) == namespace {
		return ""
	}
	return namespace
}

// New returns the hub of a node, which reaches those of other nodes through bus.
func New(bus Bus) *Hub { return &Hub{bus: bus, channels: make(index), patterns: make(index)} }

func (x index) add(t topic, c *Subscriber) {
	names := x[t.scope]
	if names == nil {
		names = make(map[string]subscribers)
		x[t.scope] = names
	}
	if names[t.name] == nil {
		names[t.name] = make(subscribers)
	}
	names[t.name][c] = struct{}{}
}

func (x index) remove(t topic, c *Subscriber) {
	names := x[t.scope]
	if delete(names[t.name], c); len(names[t.name]) == 0 {
		delete(names, t.name)
	}
	if len(names) == 0 {
		delete(x, t.scope)
	}
}

// count returns the number of names in all scopes.
func (x index) count() (n int) {
	for _, names := range x {
		n += len(names)
	}
	return n
}

// publish hands a message to the subscribers of its channel and returns how often
// it was handed over. Messages come to every subscriber in the order of the calls.
func (h *Hub) publish(m *message) (receivers int64) {
	matching := h.among(patternsOf, m.scope, func(pattern string) bool { return glob.Match(pattern, m.channel) })
	h.mu.Lock()
	defer h.mu.Unlock()
	direct := h.channels[m.scope][m.channel]
	n := len(direct)
	for _, pattern := range matching {
		n += len(h.patterns[m.scope][pattern])
	}
	if n == 0 {
		return 0
	}
	bytes := len(m.channel) + len(m.payload) + PushOverhead
	p := replies.Push{Bytes: bytes, Share: int64(bytes/n + PushOverhead)}
	p.Write = func(w *resp.Writer) {
		w.Push(3)
		w.BulkString("message")
		w.BulkString(m.channel)
		w.Bulk(m.payload)
	}
	direct.push(p)
	slices.Sort(matching)
	for _, pattern := range matching {
		p.Write = func(w *resp.Writer) {
			w.Push(4)
			w.BulkString("pmessage")
			w.BulkString(pattern)
			w.BulkString(m.channel)
			w.Bulk(m.payload)
		}
		h.patterns[m.scope][pattern].push(p)
	}
	return int64(n)
}

// PushOverhead is the bookkeeping bytes of a message that waits to be written.
const PushOverhead = 64

func (s subscribers) push(p replies.Push) {
	for c := range s {
		if !c.Receive(p) {
			c.Cut()
		}
	}
}

// announce publishes a message of the server itself, in every scope.
func (h *Hub) announce(channel, payload string) {
	h.mu.Lock()
	scopes := make(map[string]struct{})
	for _, x := range []index{h.channels, h.patterns} {
		for scope := range x {
			scopes[scope] = struct{}{}
		}
	}
	h.mu.Unlock()
	for scope := range scopes {
		h.publish(&message{scope: scope, channel: channel, payload: []byte(payload)})
	}
}

// names returns the channels or patterns of a scope that have subscribers and
// match.
func (h *Hub) names(of func(*Hub) index, scope, pattern string) []string {
	return h.among(of, scope, func(name string) bool { return glob.Match(pattern, name) })
}

// among returns the channels or patterns of a scope that have subscribers and of which match is true. It is asked
// without the lock: what one tenant's patterns take is not time of the others.
func (h *Hub) among(of func(*Hub) index, scope string, match func(name string) bool) []string {
	h.mu.Lock()
	names := slices.Collect(maps.Keys(of(h)[scope]))
	h.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return !match(name) })
}

func channelsOf(h *Hub) index { return h.channels }
func patternsOf(h *Hub) index { return h.patterns }

// counts returns the number of subscribers of each channel.
func (h *Hub) counts(scope string, channels []string) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := make([]int64, len(channels))
	for i, name := range channels {
		counts[i] = int64(len(h.channels[scope][name]))
	}
	return counts
}

// Sizes returns the numbers of channels and of patterns that have subscribers at this node.
func (h *Hub) Sizes() (channels, patterns int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.channels.count(), h.patterns.count()
}
