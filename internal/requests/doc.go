// Package requests has the requests of nodes to each other beside Raft's: their kinds and encodings, the Client that
// sends them and the Server that answers.
//
// Kinds and encodings stay readable by later versions, since nodes of two versions talk to each other during an
// upgrade. Any goroutine may use a Client or a Server.
package requests
