package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// listener subscribes to channels of a pool, one after the other.
type listener struct {
	run     *Run
	pool    *pool
	rand    *rand.Rand
	pattern bool // it subscribes by PSUBSCRIBE
	sub     *subscription
}

// subscription is a connection with a subscription. A goroutine reads it until it ends.
type subscription struct {
	run     *Run
	channel *Session
	node    *cluster.Node
	api     *respAPI
	process int
	ended   chan struct{}

	mu      sync.Mutex
	awaited map[string]chan struct{} // token → closed when it is received
}

func newListener(r *Run, p *pool, i int) *listener {
	return &listener{run: r, pool: p, pattern: i%2 == 1, rand: rand.New(rand.NewPCG(uint64(i), 22))}
}

// loop subscribes, leaves after a while, and subscribes again, until ctx ends. The last
// subscription stays, for catchUp.
func (l *listener) loop(ctx context.Context) {
	for ctx.Err() == nil && l.run.Failed() == nil {
		n := l.run.pickNode(l.rand, nil)
		if n == nil || l.subscribe(ctx, n) != nil {
			sleep(ctx, 100*time.Millisecond)
			continue
		}
		subscribed := time.NewTimer(time.Second + time.Duration(l.rand.Int64N(int64(9*time.Second))))
		select {
		case <-ctx.Done():
		case <-l.sub.ended:
		case <-subscribed.C:
		}
		subscribed.Stop()
		if ctx.Err() == nil {
			l.leave()
		}
	}
}

// leave ends the subscription, if there is one, and waits until it is recorded.
func (l *listener) leave() {
	if l.sub != nil {
		l.sub.api.Close()
		<-l.sub.ended
		l.sub = nil
	}
}

const subscribeLimit = 2 * time.Second

// subscribe begins a subscription at n.
func (l *listener) subscribe(ctx context.Context, n *cluster.Node) error {
	l.leave()
	s := &subscription{run: l.run, channel: l.pool.pick(l.rand), node: n, process: l.run.newProcess(),
		ended:   make(chan struct{}),
		awaited: map[string]chan struct{}{},
		api:     &respAPI{addr: n.RESP.Addr(), entry: l.run.cluster.Entry(l.run.user(finalUser))}}
	op, err := s.invoke()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, subscribeLimit)
	defer cancel()
	command := "SUBSCRIBE"
	if l.pattern {
		command = "PSUBSCRIBE"
	}
	if _, err := s.api.command(limited, s.channel.Key.Namespace, false,
		[]string{command, s.channel.Key.Name}); err != nil {
		s.api.Close()
		s.end(op, err)
		return err
	}
	s.run.rec.Return(s.process, op, history.OK, &history.Result{Count: 1}, nil)
	if err := s.api.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	l.sub = s
	go s.read(s.api.conn)
	return nil
}

// read records what is received until the connection ends.
func (s *subscription) read(conn *respConn) {
	defer close(s.ended)
	for {
		op, err := s.invoke()
		if err != nil {
			return
		}
		v, err := conn.r.Next()
		if err != nil {
			s.end(op, err)
			return
		}
		r := history.Result{Messages: []history.Message{{Value: s.received(v)}}}
		if r.Messages[0].Value == pong {
			r.Messages = nil
		}
		s.run.rec.Return(s.process, op, history.OK, &r, nil)
		s.run.counters.ok(&history.Call{Func: history.Listen}, &r, s.channel)
		s.arrived(s.received(v))
	}
}

// arrived tells who awaits the token.
func (s *subscription) arrived(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.awaited[token]; found != nil {
		close(found)
		delete(s.awaited, token)
	}
}

// pong is what the answer to PING is called.
const pong = "pong"

// alive reports whether the connection still leads to the node: a network may have lost it without
// telling the subscriber, who then has to ask.
func (s *subscription) alive(ctx context.Context) bool {
	answered := s.await(pong)
	s.api.conn.w.Command("PING")
	if s.api.conn.w.Flush() != nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, receiveLimit)
	defer cancel()
	select {
	case <-answered:
		return true
	case <-s.ended:
	case <-limited.Done():
	}
	return false
}

// received returns the token of a message, or a description, which no history knows, of what is
// no message of the channel.
func (s *subscription) received(v resp.Value) string {
	if len(v.Elems) == 2 && string(v.Elems[0].Str) == pong {
		return pong
	}
	at := len(v.Elems) - 2
	if at < 1 || string(v.Elems[0].Str) != map[int]string{1: "message", 2: "pmessage"}[at] ||
		string(v.Elems[1].Str) != s.channel.Key.Name ||
		string(v.Elems[at].Str) != s.channel.Key.Name {
		return fmt.Sprintf("not a message of the channel: %.200q", fmt.Sprint(v))
	}
	return token(v.Elems[at+1].Str)
}

func (s *subscription) invoke() (int64, error) {
	op, err := s.run.rec.Invoke(s.process, s.node.ID, RESP, s.channel.Name(),
		history.Call{Func: history.Listen, User: s.run.user(finalUser)})
	if err != nil {
		s.run.fail(err)
	}
	return op, err
}

func (s *subscription) end(op int64, err error) {
	s.run.rec.Return(s.process, op, history.Info, nil, &history.Error{Code: "ENDED", Message: err.Error()})
}

// await returns what is closed when the token is received.
func (s *subscription) await(token string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(chan struct{})
	s.awaited[token] = found
	return found
}

// catchUp requires, after all faults, that what is published at each node comes to the subscriber: over
// the connection that it has, as long as the node answers there.
func (l *listener) catchUp(ctx context.Context) error {
	defer l.leave()
	for _, n := range l.run.cluster.Nodes {
		err := errors.New("no subscription")
		for err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("after all faults have healed, a subscriber does not receive what is published "+
					"at %s: %w", n.ID, err)
			}
			if l.sub == nil || !l.sub.alive(ctx) {
				err = l.subscribe(ctx, l.run.cluster.Nodes[l.rand.IntN(len(l.run.cluster.Nodes))])
			}
			if l.sub != nil {
				err = l.receives(ctx, n)
			}
			if err != nil {
				sleep(ctx, 50*time.Millisecond)
			}
		}
	}
	return nil
}

const receiveLimit = time.Second

// receives publishes a message at n and reports whether the subscriber receives it soon.
func (l *listener) receives(ctx context.Context, n *cluster.Node) error {
	api := &respAPI{addr: n.RESP.Addr(), entry: l.run.cluster.Entry(l.run.user(finalUser))}
	defer api.Close()
	c := history.Call{Func: history.Publish, Values: []string{l.run.token()}, User: l.run.user(finalUser)}
	found := l.sub.await(c.Values[0])
	process := l.run.newProcess()
	op, err := l.run.rec.Invoke(process, n.ID, RESP, l.sub.channel.Name(), c)
	if err != nil {
		return l.run.fail(err)
	}
	limited, cancel := context.WithTimeout(ctx, receiveLimit)
	defer cancel()
	r, err := api.Do(limited, l.sub.channel.Key, &c)
	if err != nil {
		kind := history.Fail
		if turn.Is(err, turn.Unknown) {
			kind = history.Info
		}
		l.run.rec.Return(process, op, kind, nil, &history.Error{Code: turn.KindOf(err).String(), Message: err.Error()})
		return err
	}
	l.run.rec.Return(process, op, history.OK, &r, nil)
	select {
	case <-found:
		return nil
	case <-l.sub.ended:
	case <-limited.Done():
	}
	return fmt.Errorf("%q was published and has not come to %s within %v", c.Values[0], l.sub.node.ID, receiveLimit)
}
