// Package requests is what nodes ask each other beside Raft: the kinds of requests, how they and their answers are
// encoded, the Client that asks, and the Server that answers.
package requests
