package redis

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// publish publishes a message when all earlier writes of the connection are applied,
// so that who receives it can read them.
func (c *conn) publish(p *command.Publish) started {
	c.awaitBarrier()
	for _, w := range c.order.Writes {
		c.await(w.Done())
	}
	if c.subs.Count() > 0 {
		c.replies.Drain() // the message may come back, and not before earlier replies
	}
	c.replies.Flush() // publishing can take its time
	r := c.srv.hub.Publish(c.srv.work, p)
	return started{ready: r.Done, outcome: func() (command.Reply, error) {
		<-r.Done
		return func(w *resp.Writer) { w.Int(r.Count) }, nil
	}}
}
