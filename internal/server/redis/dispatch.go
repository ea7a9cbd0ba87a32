package redis

import "github.com/turnlog/turnlog/internal/server/redis/command"

// dispatch has a request handled.
func (c *conn) dispatch(cmd *command.Command, args [][]byte) command.Action {
	if h := c.srv.handlers[cmd.Slot]; h != nil {
		return h(c, args)
	}
	return cmd.Handle(&command.Request{
		Command: cmd, Namespace: c.namespace, User: c.who.user, Queued: c.tx.Open(),
		Backend: c.srv.backend, Client: asClient{c},
	}, args)
}

// checkKeys refuses keys that are too long before anything is kept of them.
func (c *conn) checkKeys(cmd *command.Command, args [][]byte) command.Error {
	most := c.srv.engine.Limits().KeyBytes
	keys, step := cmd.KeyRun(args)
	if cmd.Blocks && len(keys) > maxBlockingKeys*step {
		return command.TooLarge("%s can wait for at most %d keys", cmd.Name, maxBlockingKeys)
	}
	for i := 0; i < len(keys); i += step {
		if n := len(keys[i]); n > most {
			return command.TooLarge("session key has %d bytes, the limit is %d", n, most)
		}
	}
	return ""
}
