// Package requestmemory bounds the memory of requests that are being received, and of what
// connections keep between them. Each connection has an account, which is charged to its user or,
// while that is unknown, to its address. Connections that have yet to authenticate have a budget
// of their own, so that they take nothing from users.
package requestmemory
