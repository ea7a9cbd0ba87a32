// Package wire is the socket of one connection: deadlines of reads and writes, the input that is kept while a request
// blocks, and how the connection ends. It knows nothing of requests.
//
// Reading and writing belong to the connection's goroutines, one each; Stop, CutOff and Wake may be called by any.
package wire
