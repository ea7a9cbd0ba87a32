// Package requestmemory bounds the memory of requests that are being received, and of what
// connections keep between them. Each connection has an account, which is charged to its user or,
// while that is unknown, to its address. Strangers have a budget of their own, so that users
// always find theirs.
package requestmemory
