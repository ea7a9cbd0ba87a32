package redis

import (
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
