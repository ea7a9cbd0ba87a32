// Package generator puts load on a target: a closed loop, in which each client has one connection
// and sends its next request when it has the whole answer to the last one. One thread serves all
// connections (on Linux; a goroutine each where that is asked for), and a Recorder counts what
// came of the operations. What the operations are is the caller's.
package generator
