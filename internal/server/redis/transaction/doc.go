// Package transaction has what one connection keeps between MULTI and EXEC: the requests that are
// queued, as one operation when they are executed, and the keys that are watched.
package transaction
