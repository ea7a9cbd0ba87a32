// Package langchaingo keeps the chat histories of LangChainGo in turnlog.
//
//	c, err := client.New(client.Config{Addrs: []string{"127.0.0.1:7379", "127.0.0.1:7389", "127.0.0.1:7399"}})
//	if err != nil { … }
//	defer c.Close()
//	memory := langchaingo.NewMemory(langchaingo.NewHistory(c, "alice", langchaingo.Config{}))
//	conversation := chains.NewConversation(llm, memory)
//	answer, err := chains.Run(ctx, conversation, "Where is my order?")
//
// [History] is a schema.ChatMessageHistory: a session of turnlog, whose messages are in the JSON form
// of LangChain, so that programs in Python and TypeScript share the conversation. [Memory] is a
// schema.Memory that saves question and answer as one turn: both or neither. With another memory of
// LangChainGo, as its window and token buffers, a History saves each message by itself.
//
// What was added is on a majority of the cluster's disks. Each call is tried again by the client, through
// elections and lost connections, and stored once. [WithTurnID] does the same for the calls of a
// program that is itself started again.
//
// Errors are, or wrap, *turn.Error, which says whether the messages may have been stored.
package langchaingo
