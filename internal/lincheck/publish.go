package lincheck

import (
	"cmp"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// subscription is what one connection received of a channel.
type subscription struct {
	began, confirmed, ended int64
	received                []*history.Operation
	values                  map[string]*history.Operation
}

// checkPublished judges a channel: each subscriber receives a message at most once, not before
// it was published, and what one connection published in the order in which it did. In a calm
// cluster nothing is lost, and publishers are told the right number of receivers.
func (s *session) checkPublished(calm bool) {
	from := s.firstAppends()
	subscriptions := s.subscriptions()
	for _, sub := range subscriptions {
		s.checkReceived(sub, from)
	}
	for _, op := range s.ops {
		if op.Call.Func == history.Publish && op.Outcome == history.OK && calm {
			s.checkReceivers(op, subscriptions)
		}
	}
}

// subscriptions returns the channel's, in the order of their processes. One that was never
// confirmed counts from Forever on.
func (s *session) subscriptions() []*subscription {
	of := map[int]*subscription{}
	var all []*subscription
	for _, op := range s.ops {
		if op.Call.Func != history.Listen {
			continue
		}
		sub := of[op.Process]
		if sub == nil {
			sub = &subscription{began: op.Invoke, confirmed: history.Forever, values: map[string]*history.Operation{}}
			of[op.Process] = sub
			all = append(all, sub)
		}
		sub.ended = cmp.Or(op.End, history.Forever)
		switch {
		case op.Outcome != history.OK:
		case len(op.Result.Messages) == 0: // or, later, the answer to a PING
			sub.confirmed = min(sub.confirmed, op.Return)
		default:
			sub.received = append(sub.received, op)
		}
	}
	return all
}

// checkReceived judges what one subscriber received.
func (s *session) checkReceived(sub *subscription, from map[string]*history.Operation) {
	last := map[int64]*history.Operation{} // by pipeline: of the messages received, the one published last
	for _, op := range sub.received {
		value := op.Result.Messages[0].Value
		if before := sub.values[value]; before != nil {
			s.violation("received twice", fmt.Sprintf("a subscriber received %q twice", value), before, op)
		}
		sub.values[value] = op
		p := from[value]
		if p == nil {
			continue // checkForeign tells
		}
		if p.Invoke > op.Return {
			s.violation("real time", fmt.Sprintf("%q was received before it was published", value), p, op)
		}
		if p.Outcome == history.Fail {
			s.violation("refused but there",
				fmt.Sprintf("%q was received, although its PUBLISH was refused", value), p, op)
		}
		if p.Call.Pipeline == 0 {
			continue
		}
		if before := last[p.Call.Pipeline]; before != nil && before.Call.Position > p.Call.Position {
			s.violation("published messages changed order",
				fmt.Sprintf("%q was published after %q, and received before it",
					before.Call.Values[0], value), p, before, op)
		}
		last[p.Call.Pipeline] = p
	}
}

const (
	// answerTime is how long the other nodes' answers are waited for; later ones do not count.
	answerTime = int64(500 * time.Millisecond)
	// deliveryTime is what a message, or the end of a connection, may take in a calm cluster.
	deliveryTime = int64(5 * time.Second)
)

// checkReceivers holds a PUBLISH against the subscriptions of a calm cluster.
func (s *session) checkReceivers(op *history.Operation, all []*subscription) {
	var least, most uint64
	for _, sub := range all {
		if sub.began < op.Return && sub.ended+deliveryTime > op.Invoke || sub.ended == history.Forever {
			most++
		}
		if sub.confirmed < op.Invoke && sub.ended > op.Return {
			least++
		}
		if sub.confirmed < op.Invoke && sub.ended > op.Return+deliveryTime && sub.values[op.Call.Values[0]] == nil {
			s.violation("published and lost", fmt.Sprintf("a subscriber did not receive %q", op.Call.Values[0]), op)
		}
	}
	if op.Return-op.Invoke >= answerTime {
		least = 0
	}
	if n := op.Result.Count; n < least || n > most {
		s.violation("receivers", fmt.Sprintf("PUBLISH told of %d receivers; there were %d to %d", n, least, most), op)
	}
}
