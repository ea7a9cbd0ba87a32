package redis

import (
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/turn"
)

// What one connection may subscribe to: so many channels and patterns, with
// names of so many bytes together.
const (
	maxSubscriptions     = 10_000
	maxSubscriptionBytes = 1 << 20
)

// subscriptions are what a connection is subscribed to.
type subscriptions struct {
	channels, patterns map[topic]struct{}
	bytes              int // of the names
}

// topicOverhead is the bookkeeping bytes of a subscription.
const topicOverhead = 256

func (s *subscriptions) count() int { return len(s.channels) + len(s.patterns) }

// charge is what the connection's memory is charged with for them.
func (s *subscriptions) charge() int { return s.bytes + s.count()*topicOverhead }

// subscription is SUBSCRIBE or PSUBSCRIBE, or what ends it.
type subscription struct {
	word  string // in confirmations
	index func(*hub) index
	mine  func(*subscriptions) *map[topic]struct{}
}

func toChannels(word string) subscription {
	return subscription{word, channelsOf, func(s *subscriptions) *map[topic]struct{} { return &s.channels }}
}

func toPatterns(word string) subscription {
	return subscription{word, patternsOf, func(s *subscriptions) *map[topic]struct{} { return &s.patterns }}
}

// confirmation is the answer for one name.
type confirmation struct {
	name  string
	none  bool // there was nothing to end
	count int
}

// subscribe makes the handler of SUBSCRIBE and PSUBSCRIBE.
func subscribe(kind subscription) connHandler {
	return func(c *conn, args [][]byte) command.Action {
		names := command.Names(args[1:])
		mine := kind.mine(&c.subs)
		if err := c.takeSubscriptions(names, *mine); err != "" {
			return err
		}
		if *mine == nil {
			*mine = make(map[topic]struct{})
		}
		return c.changeSubscriptions(kind, func(h *hub) (confirmed []confirmation) {
			for _, name := range names {
				t := topic{scopeOf(c.namespace), name}
				if _, have := (*mine)[t]; !have {
					(*mine)[t] = struct{}{}
					c.subs.bytes += len(name)
					kind.index(h).add(t, c)
				}
				confirmed = append(confirmed, confirmation{name: name, count: c.subs.count()})
			}
			return confirmed
		})
	}
}

// takeSubscriptions charges the connection's memory with those of the names that it is
// not subscribed to yet.
func (c *conn) takeSubscriptions(names []string, mine map[topic]struct{}) command.Error {
	more := subscriptions{channels: make(map[topic]struct{})}
	for _, name := range names {
		t := topic{scopeOf(c.namespace), name}
		_, have := mine[t]
		_, twice := more.channels[t]
		if !have && !twice {
			more.channels[t] = struct{}{}
			more.bytes += len(name)
		}
	}
	// Names count as often as they are given: the confirmations take memory, too.
	if c.subs.count()+len(names) > maxSubscriptions || c.subs.bytes+more.bytes > maxSubscriptionBytes {
		return command.Error(command.ErrorText(turn.Errorf(turn.TooLarge,
			"a connection can have %d subscriptions, with %d bytes of names", maxSubscriptions, maxSubscriptionBytes),
			false))
	}
	if !c.memory.Take(more.charge()) {
		return errCrowded
	}
	return ""
}

// unsubscribe makes the handler of UNSUBSCRIBE and PUNSUBSCRIBE. Without names it
// ends all, those made in other namespaces too.
func unsubscribe(kind subscription) connHandler {
	return func(c *conn, args [][]byte) command.Action {
		mine := *kind.mine(&c.subs)
		var topics []topic
		for _, name := range command.Names(args[1:]) {
			topics = append(topics, topic{scopeOf(c.namespace), name})
		}
		if len(args) == 1 {
			for t := range mine {
				topics = append(topics, t)
			}
			slices.SortFunc(topics, func(a, b topic) int { return strings.Compare(a.name, b.name) })
		}
		return c.changeSubscriptions(kind, func(h *hub) (confirmed []confirmation) {
			for _, t := range topics {
				if _, have := mine[t]; have {
					delete(mine, t)
					c.subs.bytes -= len(t.name)
					kind.index(h).remove(t, c)
				}
				confirmed = append(confirmed, confirmation{name: t.name, count: c.subs.count()})
			}
			if len(topics) == 0 {
				return []confirmation{{none: true, count: c.subs.count()}}
			}
			return confirmed
		})
	}
}

// changeSubscriptions answers with a gate, so that messages come after the
// confirmation of a subscription, and none after that of its end.
func (c *conn) changeSubscriptions(kind subscription, change func(*hub) []confirmation) command.Action {
	c.awaitBarrier()
	c.replies.Share()
	h := c.srv.hub
	charged := c.subs.charge()
	h.mu.Lock()
	confirmed := change(h)
	if fewer := charged - c.subs.charge(); fewer > 0 {
		c.memory.Give(fewer)
	}
	c.replies.Push(replies.Push{Gate: true, Write: func(w *resp.Writer) {
		for _, o := range confirmed {
			w.Push(3)
			w.BulkString(kind.word)
			if o.none {
				w.Null()
			} else {
				w.BulkString(o.name)
			}
			w.Int(int64(o.count))
		}
	}})
	h.mu.Unlock()
	c.noteSubscriptions()
	return command.Gate{}
}

// noteSubscriptions shows others what the connection is subscribed to.
func (c *conn) noteSubscriptions() {
	c.info.mu.Lock()
	c.info.channels, c.info.patterns = len(c.subs.channels), len(c.subs.patterns)
	c.info.mu.Unlock()
}

// unsubscribeAll ends all subscriptions, without confirmations.
func (c *conn) unsubscribeAll() {
	if c.subs.count() == 0 {
		return
	}
	h := c.srv.hub
	h.mu.Lock()
	for t := range c.subs.channels {
		h.channels.remove(t, c)
	}
	for t := range c.subs.patterns {
		h.patterns.remove(t, c)
	}
	h.mu.Unlock()
	c.memory.Give(c.subs.charge())
	c.subs = subscriptions{}
	c.noteSubscriptions()
}

// listening reports whether the connection is in the state in which RESP2 clients
// may only change their subscriptions: they could not tell replies from messages.
func (c *conn) listening() bool { return c.subs.count() > 0 && c.proto == 2 }

// whileListening reports whether a listening connection may do the command.
func whileListening(cmd *command.Command) bool {
	switch cmd.Name {
	case "ping", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "quit", "reset":
		return true
	}
	return false
}

func errListening(name string) command.Error {
	code := "ERR "
	if name == "exec" {
		code = "EXECABORT Transaction discarded because of: "
	}
	return command.Error(code + "Can't execute '" + name +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}
