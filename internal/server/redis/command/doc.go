// Package command holds the commands of the Redis protocol: a table of them, and their handlers,
// which know nothing of sockets.
//
// # One table
//
// table*.go list every command once: name, arity, flags, keys, handler. Dispatch, arity errors,
// permissions (permit.go), COMMAND, the metrics and the reference page come from it.
//
// # Handlers
//
// A Handler does nothing by itself. It makes an Action of a request, which says what to ask the
// engine and how to write its answer; the connection performs it. action.go has the kinds of
// actions. What a handler may use is in its Request: the Backend, which all handlers of a server
// share, and the Client, of which the handlers of commands that wait know that it can disconnect.
//
// Commands that change or describe their connection (HELLO, CLIENT, MULTI, SUBSCRIBE) have their
// row here, too, with Conn set; the connection has their handlers.
//
// # Transactions
//
// Between MULTI and EXEC handlers run as ever, but their actions are kept. EXEC makes the
// operations and queries of all of them the steps of one turn.Tx. So what may be
// queued is what an action can say in advance: a Reply, Error, Write, Read or Publish, and neither
// Work nor Wait, which ask the engine several times, depending on the answers.
package command
