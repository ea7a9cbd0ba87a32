package main

import (
	"fmt"
	"path/filepath"
)

// library is a chat history of some library and how to drive it.
type library struct {
	name   string
	driver string // its name for the driver; name if empty
	env    string // the environment of the driver: a name under bin/compat, or go
	// retry lets the client resend by itself what it knows no outcome of, where
	// that can be chosen.
	retry bool
	// resends names who may then store a message twice, if the node that the
	// library talks to dies; empty: no client.
	resends string
	// ids puts the conversations into the database in which nodes find ids in the
	// payloads, and so recognise what is sent again.
	ids   bool
	short bool // part of the short form
}

const redisPy = "redis-py"

// Where messages and items of these libraries have their ids; for faultRun.
const (
	plainDatabase, idsDatabase = 0, 1

	idPaths = "data.id,message_id,additional_kwargs.id,id"
)

// libraries are all that can be driven. Where the client can be chosen, they are
// twice: with one that resends and with one that does not. Some of those that resend
// here once more, with ids.
func libraries() []library {
	return []library{
		{name: "langchain-community", env: "langchain-openai", short: true},
		{name: "openai-agents", env: "langchain-openai", short: true},
		{name: "openai-agents on Redis(host)", driver: "openai-agents", env: "langchain-openai", retry: true},
		{name: "llama-index", env: "llama-index"},
		{name: "llama-index on Redis(host)", driver: "llama-index", env: "llama-index", retry: true, resends: redisPy},
		{name: "llama-index async", env: "llama-index"},
		{name: "llama-index async on Redis(host)", driver: "llama-index async", env: "llama-index", retry: true,
			resends: redisPy},
		{name: "agent-framework", env: "agent-framework"},
		{name: "agent-framework on Redis(host)", driver: "agent-framework", env: "agent-framework", retry: true,
			resends: redisPy},
		{name: "google-adk", env: "google-adk", resends: "redis-py's transaction()"},
		{name: "google-adk-community", env: "google-adk"},
		// With a client that does not resend, it takes a read that failed for a record that is missing.
		{name: "agno on Redis(host)", driver: "agno", env: "agno", retry: true, resends: redisPy},
		{name: "@langchain/redis", env: "javascript", short: true},
		{name: "@langchain/community ioredis", env: "javascript", retry: true, resends: "ioredis", short: true},
		{name: "@langchain/community ioredis without resending", driver: "@langchain/community ioredis",
			env: "javascript"},
		{name: "go-redis list", env: "go", retry: true, resends: "go-redis", short: true},
		{name: "go-redis list without retries", env: "go"},
		{name: "llama-index on Redis(host) with ids", driver: "llama-index", env: "llama-index", retry: true,
			resends: redisPy, ids: true},
		{name: "agent-framework on Redis(host) with ids", driver: "agent-framework", env: "agent-framework",
			retry: true, resends: redisPy, ids: true},
		{name: "@langchain/community ioredis with ids", driver: "@langchain/community ioredis", env: "javascript",
			retry: true, resends: "ioredis", ids: true, short: true},
		{name: "go-redis list with ids", env: "go", retry: true, resends: "go-redis", ids: true},
		{name: "turnlog.memory", env: "langchain-openai", resends: "turnlog", ids: true, short: true},
		{name: "turnlog.langchain", env: "langchain-openai", resends: "turnlog", ids: true, short: true},
		{name: "turnlog.langgraph", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.openai_agents", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.llama_index", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.agent_framework", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.google_adk", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.pydantic_ai", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.strands", env: "sdk-python", resends: "turnlog", ids: true},
		{name: "turnlog.crewai", env: "sdk-python-crewai", resends: "turnlog", ids: true},
		{name: "langchain4j", env: "java"},
		{name: "langchain4j on Lettuce", env: "java", retry: true},
		{name: "Jedis list", env: "java"},
		{name: "Lettuce list", env: "java", retry: true, resends: "Lettuce"},
		{name: "Lettuce list without reconnecting", driver: "Lettuce list", env: "java"},
	}
}

// url is how its conversations are reached at an address.
func (l library) url(address string) string {
	database := plainDatabase
	if l.ids {
		database = idsDatabase
	}
	return fmt.Sprintf("redis://%s/%d", address, database)
}

// places are where drivers lie.
type places struct {
	installed string // bin/compat
	goDriver  string
}

// command is the command line of a library's driver.
func (l library) command(p places) []string {
	dir := filepath.Join(p.installed, l.env)
	switch l.env {
	case "go":
		return []string{p.goDriver}
	case "javascript":
		return []string{"node", filepath.Join(dir, "driver.mjs")}
	case "java":
		return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(dir, "classes") + ":" +
			filepath.Join(dir, "lib", "*"), "compat.Driver"}
	}
	return []string{filepath.Join(dir, "bin", "python"), "test/compat/python/driver.py"}
}
