// Package peer is the port on which the nodes of a cluster talk to each other.
//
// One listener serves three kinds of connection, told apart by a handshake: raw
// streams, which the caller uses as it likes (Raft's own protocol), RPC
// connections, which carry many concurrent requests, and transfers, each of which
// is handled by a function of its own. In the handshake both
// sides say who they are — cluster, node, incarnation — and either may refuse,
// with a reason that the other side gets to see. With TLS or a Secret, both prove their
// identity before that.
//
// # Requests
//
// Every node keeps one RPC connection to every peer, on which it asks and the
// peer answers; Run reconnects it with backoff. Requests of one connection are
// handled concurrently, up to a bound, so a slow one delays no other. A Kind
// with the bit Ordered is different: its handler is called in the order in which
// the requests were sent, one at a time, before the next frame is read, and must
// not block; it may answer later.
//
// Frames are gathered: a sender that comes while a write is in flight has its frame
// go out with the next write, together with all others that wait.
//
// A request that fails with ErrNotSent or ErrOverloaded was not handled. After
// any other error it may have been.
//
// # Not promised
//
// Requests are not retried, answers may come in any order, and a request that
// was sent on one connection is never matched with an answer from another.
package peer
