// Package eino keeps the checkpoints and the conversations of Eino agents in turnlog.
//
//	c, err := client.New(client.Config{Addrs: []string{"127.0.0.1:7379", "127.0.0.1:7389", "127.0.0.1:7399"}})
//	if err != nil { … }
//	defer c.Close()
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent,
//		CheckPointStore: eino.NewCheckPoints(c, eino.CheckPointConfig{})})
//	memory := eino.NewMemory(c, eino.Config{Last: 40})
//	history, err := memory.Read(ctx, "alice")
//	…
//	err = memory.Append(eino.WithTurnID(ctx, requestID), "alice", question, answer)
//
// [CheckPoints] is a compose.CheckPointStore, for graphs and for runners of package adk: an agent that waits
// for a person goes on in any process, after crashes of its own and of turnlog's nodes. [Memory] has
// the methods of the memory store in Eino's examples, Write, Read and Query, and Append, which adds a
// turn as a whole. Messages are in Eino's JSON form; values in their Extra come back as what JSON
// makes of them.
//
// What was saved is on a majority of the cluster's disks. Each call is tried again by the client, through
// elections and lost connections, and takes place once.
//
// Errors are, or wrap, *turn.Error, which says whether the change may have taken place.
package eino
