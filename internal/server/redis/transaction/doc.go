// Package transaction keeps what one connection has queued since MULTI, and the keys that it watches. EXEC makes one
// operation of all queued requests, which compares the revisions of the watched keys when it is applied.
//
// What is queued and watched is charged to the connection's memory. A State belongs to the goroutine that reads the
// connection's requests.
package transaction
