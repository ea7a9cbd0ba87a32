package redis

import "github.com/turnlog/turnlog/internal/server/redis/command"

// silence is which replies CLIENT REPLY suppresses.
type silence struct {
	all  bool // OFF
	next int  // how many, SKIP
}

// take reports whether the next reply is suppressed, which is no longer the next then.
func (s *silence) take() (mute bool) {
	mute = s.all || s.next > 0
	s.next = max(0, s.next-1)
	return mute
}

func clientReply(c *conn, args [][]byte) command.Action {
	switch {
	case command.Is(args[2], "ON"):
		c.silence.all = false
	case command.Is(args[2], "OFF"):
		c.silence.all = true
	case command.Is(args[2], "SKIP"):
		if !c.silence.all {
			c.silence.next = 2 // this reply and the next
		}
	default:
		return command.ErrSyntax
	}
	return command.Status("OK")
}
