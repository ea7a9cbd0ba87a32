package redis

import (
	"slices"
	"strconv"
	"sync"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
)

// hub knows this node's subscribers and hands them what is published.
type hub struct {
	mu       sync.Mutex
	channels index
	patterns index
}

// index holds subscribers by scope and by name of channel or pattern.
type index map[string]map[string]subscribers

type subscribers map[*conn]struct{}

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

func newHub() *hub { return &hub{channels: make(index), patterns: make(index)} }

func (x index) add(t topic, c *conn) {
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

func (x index) remove(t topic, c *conn) {
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
func (h *hub) publish(m *message) (receivers int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	direct := h.channels[m.scope][m.channel]
	var matching []string
	n := len(direct)
	for pattern, subs := range h.patterns[m.scope] {
		if command.Match(pattern, m.channel) {
			matching = append(matching, pattern)
			n += len(subs)
		}
	}
	if n == 0 {
		return 0
	}
	bytes := len(m.channel) + len(m.payload) + pushOverhead
	p := replies.Push{Bytes: bytes, Share: int64(bytes/n + pushOverhead)}
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

// pushOverhead is what a message takes beside its bytes.
const pushOverhead = 64

func (s subscribers) push(p replies.Push) {
	for c := range s {
		if !c.replies.Push(p) {
			c.cut()
		}
	}
}

// announce publishes a message of the server itself, in every scope.
func (h *hub) announce(channel, payload string) {
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
func (h *hub) names(of func(*hub) index, scope, pattern string) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range of(h)[scope] {
		if command.Match(pattern, name) {
			names = append(names, name)
		}
	}
	return names
}

func channelsOf(h *hub) index { return h.channels }
func patternsOf(h *hub) index { return h.patterns }

// counts returns the number of subscribers of each channel.
func (h *hub) counts(scope string, channels []string) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := make([]int64, len(channels))
	for i, name := range channels {
		counts[i] = int64(len(h.channels[scope][name]))
	}
	return counts
}

// sizes returns the numbers of channels and of patterns that have subscribers.
func (h *hub) sizes() (channels, patterns int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.channels.count(), h.patterns.count()
}
