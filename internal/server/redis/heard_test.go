package redis

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// What is published between the reading of the users file and the closing of a connection for it is not for who lost
// the right to it; nor does a request in between keep the connection.
func TestSubscriberThatLostItsRight(t *testing.T) {
	for name, between := range map[string]func(s *Server, c *client){
		"publish": func(s *Server, _ *client) { s.as(t, "root").do("PUBLISH", "a", "hidden") },
		"request": func(s *Server, c *client) { _, _ = c.tryDo("PING"); s.UsersChanged() },
	} {
		t.Run(name, func(t *testing.T) {
			root := testUser{"root", "admin", "['*']", ""}
			file, users := newUsersFile(t, root, testUser{"ann", "read", "['0']", "channels: [a]"})
			s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
			c := s.as(t, "ann")
			c.do("SUBSCRIBE", "a")
			file.write(root, testUser{"ann", "read", "['0']", "channels: [b]"})
			if err := users.Reload(); err != nil {
				t.Fatal(err)
			}
			between(s, c)
			if err := c.nc.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
				t.Fatal(err)
			}
			c.expectClosed()
		})
	}
}

// readsLate is an engine that has something happen once, before it reads.
type readsLate struct {
	Engine
	happens atomic.Pointer[func()]
}

func (e *readsLate) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if f := e.happens.Swap(nil); f != nil {
		(*f)()
	}
	return e.Engine.Query(ctx, q, c)
}

// What a tail was reading when the right went is not pushed.
func TestTailThatLostItsRightWhileItRead(t *testing.T) {
	root := testUser{"root", "admin", "['*']", ""}
	file, users := newUsersFile(t, root, testUser{"ann", "read", "['0']", "prefixes: [theirs]"})
	e := &readsLate{Engine: openEngine(t, turn.DefaultLimits())}
	s := open(t, Config{Engine: e, Users: users})
	r, c := s.as(t, "root"), s.as(t, "ann")
	c.do("HELLO", "3")
	lost := make(chan struct{})
	happens := func() {
		defer close(lost)
		file.write(root, testUser{"ann", "read", "['0']", "prefixes: [mine]"})
		if err := users.Reload(); err != nil {
			t.Error(err)
		}
		r.do("RPUSH", "theirs", "hidden")
	}
	e.happens.Store(&happens)
	c.do("TURN.TAIL", "theirs", "AFTER", "0", "PUSH")
	<-lost
	c.expect("1", "TURN.UNTAIL") // which waits for what is pushed
}
