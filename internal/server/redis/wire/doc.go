// Package wire has the socket of one connection: how long a read or a write of it may take, what it
// keeps of input while a request blocks, and how it ends. It knows nothing of requests.
package wire
