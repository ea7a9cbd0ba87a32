// Package inflight keeps what one connection has in flight in sequence: operations on one key
// take effect, and are seen, in the order of the requests, and those on different keys do not
// wait for one another. Reads behind a write whose outcome is unknown begin when it is settled.
// How a client paces its requests says which of them need no goroutine, and what they are
// pipelined with how their errors are told. The goroutine that reads requests owns the Order;
// each read in flight has a goroutine of its own.
package inflight
