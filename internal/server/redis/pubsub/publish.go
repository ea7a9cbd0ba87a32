package pubsub

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// message is one that was published. It does not change.
type message struct {
	scope   string // see scopeOf
	channel string
	payload []byte
}

// Receipt tells how many received a message.
type Receipt struct {
	Done  chan struct{} // closed when Count is known
	Count int64
}

// Publish hands a message to the subscribers of all nodes. Messages that one
// goroutine publishes come to each subscriber in that order.
func (h *Hub) Publish(ctx context.Context, p *command.Publish) *Receipt {
	m := &message{scopeOf(p.Namespace), p.Channel, p.Payload}
	r := &Receipt{Done: make(chan struct{})}
	r.Count = h.publish(m)
	h.bus.Broadcast(ctx, telling(m), func(answers [][]byte) {
		for _, a := range answers {
			in := parts{rest: a}
			r.Count += int64(in.number())
		}
		close(r.Done)
	})
	return r
}

// Names returns the channels of a namespace that match and have subscribers at any node, sorted.
func (h *Hub) Names(ctx context.Context, namespace, pattern string) []string {
	scope := scopeOf(namespace)
	return h.gather(ctx, h.names(channelsOf, scope, pattern), asking(whichChannel, scope, pattern))
}

// Patterns returns the patterns of a namespace that have subscribers at any node, sorted.
func (h *Hub) Patterns(ctx context.Context, namespace string) []string {
	scope := scopeOf(namespace)
	return h.gather(ctx, h.names(patternsOf, scope, "*"), asking(whichPattern, scope))
}

// gather adds the names with which the other nodes answer a question.
func (h *Hub) gather(ctx context.Context, names []string, question []byte) []string {
	for _, a := range h.everywhere(ctx, question) {
		in := parts{rest: a}
		names = append(names, in.texts()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Counts returns the numbers of subscribers that channels of a namespace have at all nodes.
func (h *Hub) Counts(ctx context.Context, namespace string, channels []string) []int64 {
	scope := scopeOf(namespace)
	counts := h.counts(scope, channels)
	for _, a := range h.everywhere(ctx, asking(howMany, scope, channels...)) {
		in := parts{rest: a}
		for i := range counts {
			counts[i] += int64(in.number())
		}
	}
	return counts
}
