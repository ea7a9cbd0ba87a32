package pubsub

import (
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
)

// What one connection may subscribe to: so many channels and patterns, with
// names of so many bytes together.
const (
	maxSubscriptions     = 10_000
	maxSubscriptionBytes = 1 << 20
)

// TopicOverhead is the bookkeeping bytes of a subscription.
const TopicOverhead = 256

// Subscriber is a connection with what it is subscribed to. It belongs to the goroutine that reads
// requests.
type Subscriber struct {
	hub    *Hub
	memory resp.Memory // is charged with the subscriptions
	Receiver

	channels, patterns map[topic]struct{}
	bytes              int // of the names
}

// NewSubscriber returns a connection that is subscribed to nothing.
func (h *Hub) NewSubscriber(r Receiver, memory resp.Memory) Subscriber {
	return Subscriber{hub: h, Receiver: r, memory: memory}
}

// Count returns the number of subscriptions.
func (s *Subscriber) Count() int { return len(s.channels) + len(s.patterns) }

// Counts returns the numbers of channels and of patterns that s is subscribed to.
func (s *Subscriber) Counts() (channels, patterns int) { return len(s.channels), len(s.patterns) }

// charge is what memory is charged with.
func (s *Subscriber) charge() int { return s.bytes + s.Count()*TopicOverhead }

// Kind is what can be subscribed to: channels, or patterns of their names.
type Kind struct {
	prefix string // of the words in confirmations
	index  func(*Hub) index
	mine   func(*Subscriber) *map[topic]struct{}
}

// Channels are subscribed to by their names.
func Channels() Kind {
	return Kind{"", channelsOf, func(s *Subscriber) *map[topic]struct{} { return &s.channels }}
}

// Patterns are subscribed to in place of all channels whose names match.
func Patterns() Kind {
	return Kind{"p", patternsOf, func(s *Subscriber) *map[topic]struct{} { return &s.patterns }}
}

// confirmation is the answer for one name.
type confirmation struct {
	name  string
	none  bool // there was nothing to end
	count int
}

// Reserve charges the connection's memory with the names that it is not subscribed to yet.
// It must be called before Subscribe.
func (s *Subscriber) Reserve(kind Kind, namespace string, names []string) command.Error {
	mine := *kind.mine(s)
	more := Subscriber{channels: make(map[topic]struct{})}
	for _, name := range names {
		if long := command.LongPattern(name); kind.prefix != "" && long != "" {
			return long
		}
		t := topic{scopeOf(namespace), name}
		_, have := mine[t]
		_, twice := more.channels[t]
		if !have && !twice {
			more.channels[t] = struct{}{}
			more.bytes += len(name)
		}
	}
	// Names count as often as they are given: the confirmations take memory, too.
	if s.Count()+len(names) > maxSubscriptions || s.bytes+more.bytes > maxSubscriptionBytes {
		return command.TooLarge("a connection can have %d subscriptions, with %d bytes of names", maxSubscriptions,
			maxSubscriptionBytes)
	}
	if !s.memory.Take(more.charge()) {
		return command.ErrCrowded
	}
	return ""
}

// Subscribe subscribes to names for which Reserve had room. It is answered at a gate.
func (s *Subscriber) Subscribe(kind Kind, namespace string, names []string) {
	mine := kind.mine(s)
	if *mine == nil {
		*mine = make(map[topic]struct{})
	}
	s.change(kind.prefix+"subscribe", func() (confirmed []confirmation) {
		for _, name := range names {
			t := topic{scopeOf(namespace), name}
			if _, have := (*mine)[t]; !have {
				(*mine)[t] = struct{}{}
				s.bytes += len(name)
				kind.index(s.hub).add(t, s)
			}
			confirmed = append(confirmed, confirmation{name: name, count: s.Count()})
		}
		return confirmed
	})
}

// Unsubscribe ends subscriptions; without names all of the kind, those made in other namespaces
// too. It is answered at a gate.
func (s *Subscriber) Unsubscribe(kind Kind, namespace string, names []string) {
	mine := *kind.mine(s)
	var topics []topic
	for _, name := range names {
		topics = append(topics, topic{scopeOf(namespace), name})
	}
	if len(names) == 0 {
		for t := range mine {
			topics = append(topics, t)
		}
		slices.SortFunc(topics, func(a, b topic) int { return strings.Compare(a.name, b.name) })
	}
	s.change(kind.prefix+"unsubscribe", func() (confirmed []confirmation) {
		for _, t := range topics {
			if _, have := mine[t]; have {
				delete(mine, t)
				s.bytes -= len(t.name)
				kind.index(s.hub).remove(t, s)
			}
			confirmed = append(confirmed, confirmation{name: t.name, count: s.Count()})
		}
		if len(topics) == 0 {
			return []confirmation{{none: true, count: s.Count()}}
		}
		return confirmed
	})
}

// change answers at a gate, so that messages come after the confirmation of a subscription,
// and none after that of its end.
func (s *Subscriber) change(word string, change func() []confirmation) {
	charged := s.charge()
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	confirmed := change()
	if fewer := charged - s.charge(); fewer > 0 {
		s.memory.Give(fewer)
	}
	s.Receive(replies.Push{Gate: true, Write: func(w *resp.Writer) {
		for _, o := range confirmed {
			w.Push(3)
			w.BulkString(word)
			if o.none {
				w.Null()
			} else {
				w.BulkString(o.name)
			}
			w.Int(int64(o.count))
		}
	}})
}

// Close ends all subscriptions, without confirmations. There can be new ones after it.
func (s *Subscriber) Close() {
	if s.Count() == 0 {
		return
	}
	s.hub.mu.Lock()
	for t := range s.channels {
		s.hub.channels.remove(t, s)
	}
	for t := range s.patterns {
		s.hub.patterns.remove(t, s)
	}
	s.hub.mu.Unlock()
	s.memory.Give(s.charge())
	s.channels, s.patterns, s.bytes = nil, nil, 0
}
