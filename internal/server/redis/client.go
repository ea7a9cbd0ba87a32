package redis

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// asClient is a connection as handlers see it.
type asClient struct{ *conn }

func (c asClient) Detach() { c.in.Detach() }

func (c asClient) Library() string { return c.client.Library() }

func (c asClient) Permission(cmd *command.Command, args [][]byte) func() command.Error {
	return c.permission(cmd, args)
}

func (c asClient) NoteWrite(index uint64) { c.order.NoteIndex(index) }
func (c asClient) LastWrite() uint64      { return c.order.LastIndex() }

func (c asClient) Gone() context.Context { return c.wire.Gone() }
func (c asClient) HasLeft() bool         { return context.Cause(c.wire.Gone()) == command.ErrLeft }
func (c asClient) Hold() bool            { return c.block.Hold() }
func (c asClient) Release()              { c.block.Release() }

func (c asClient) WaitFor(changed <-chan struct{}, until *time.Time) error {
	c.blocking.forget() // what was found before is not kept
	return c.block.WaitAtMost(c.wire.Gone(), changed, until.Sub(c.srv.cfg.Now()), until)
}

func (c asClient) WaitAtMost(changed <-chan struct{}, d time.Duration, until *time.Time) error {
	c.blocking.forget()
	return c.block.WaitAtMost(c.wire.Gone(), changed, d, until)
}
