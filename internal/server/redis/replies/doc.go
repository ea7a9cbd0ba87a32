// Package replies has what one connection owes its client and what is pushed to it, in
// the order in which it is written. Replies come in the order of the requests, pushed
// messages in the order of the pushes, and a gate keeps the place of a reply among the
// messages. Both are bounded: a reply beyond the bound waits for room, and a connection
// that does not read what is pushed loses it.
package replies
