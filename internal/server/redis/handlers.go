package redis

import (
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
)

// connHandler makes an action of a request that concerns its connection, or the server, which
// handlers in the table know nothing of. It is called like a Handler.
type connHandler func(c *conn, args [][]byte) command.Action

// connHandlers returns the handlers of the commands of which the table says that the connection
// handles them itself, by name.
func connHandlers() map[string]connHandler {
	return map[string]connHandler{
		"hello": hello, "auth": authenticate, "select": selectDB, "turn.ns": namespace,
		"ping": ping, "echo": echo, "quit": quit, "reset": reset, "acl|whoami": aclWhoAmI,

		"client|id": clientID, "client|getname": clientGetName, "client|setname": clientSetName,
		"client|setinfo": clientSetInfo, "client|info": clientInfo, "client|list": clientList,
		"client|kill": clientKill, "client|no-evict": clientNoEvict, "client|no-touch": clientNoTouch,
		"client|reply": clientReply, "client|unblock": clientUnblock, "client|tracking": clientTracking,
		"client|getredir": clientGetRedir,

		"info": info, "config|get": configGet, "config|set": configSet,

		"multi": multi, "exec": execute, "discard": discard, "watch": watch, "unwatch": unwatch,

		"subscribe": subscribe(pubsub.Channels()), "unsubscribe": unsubscribe(pubsub.Channels()),
		"psubscribe": subscribe(pubsub.Patterns()), "punsubscribe": unsubscribe(pubsub.Patterns()),
		"pubsub|channels": pubsubChannels, "pubsub|numsub": pubsubNumSub, "pubsub|numpat": pubsubNumPat,
		"turn.untail": turnUntail, "turn.trace": turnTrace,
	}
}

// bindHandlers returns the handlers of the connection by the slots of their commands. It panics
// if they are not those that the table wants.
func bindHandlers(t *command.Table) []connHandler {
	handlers := connHandlers()
	bySlot := make([]connHandler, len(t.Slots))
	for _, cmd := range t.Slots {
		h := handlers[cmd.Name]
		if (h != nil) != cmd.Conn {
			panic("redis: the table and the connection disagree on who handles " + cmd.Name)
		}
		bySlot[cmd.Slot] = h
		delete(handlers, cmd.Name)
	}
	for name := range handlers {
		panic("redis: there is a handler, but no command " + name)
	}
	return bySlot
}
