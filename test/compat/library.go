package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
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
	http  bool // it reaches nodes over HTTP
	short bool // part of the short form
	// daily is one of those of which the short form has one, another each day.
	daily bool
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
		{name: "client for Python", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.memory", env: "langchain-openai", resends: "turnlog", ids: true, short: true},
		{name: "turnlog.langchain", env: "langchain-openai", resends: "turnlog", ids: true, short: true},
		{name: "turnlog.langgraph", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.openai_agents", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.llama_index", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.agent_framework", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.google_adk", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.pydantic_ai", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.strands", env: "sdk-python", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog.crewai", env: "sdk-python-crewai", resends: "turnlog", ids: true},
		{name: "client for TypeScript", env: "sdk-typescript", resends: "turnlog", ids: true, daily: true},
		{name: "TypeScript langchain", env: "sdk-typescript", resends: "turnlog", ids: true, daily: true},
		{name: "TypeScript langgraph", env: "sdk-typescript", resends: "turnlog", ids: true, daily: true},
		{name: "TypeScript openai-agents", env: "sdk-typescript", resends: "turnlog", ids: true, daily: true},
		{name: "TypeScript ai-sdk", env: "sdk-typescript", resends: "turnlog", ids: true, daily: true},
		{name: "client for Go", env: "sdk-go", resends: "turnlog", ids: true, daily: true},
		{name: "sdk/go/langchaingo", env: "sdk-go", resends: "turnlog", ids: true, daily: true},
		{name: "sdk/go/eino", env: "sdk-go", resends: "turnlog", ids: true, daily: true},
		{name: "sdk/go/genkit", env: "sdk-go", resends: "turnlog", ids: true, daily: true},
		{name: "turnlog-memory LangChain4j", env: "sdk-java", resends: "turnlog", ids: true, http: true, daily: true},
		{name: "turnlog-memory Spring AI", env: "sdk-java", resends: "turnlog", ids: true, http: true, daily: true},
		{name: "langchain4j", env: "java"},
		{name: "langchain4j on Lettuce", env: "java", retry: true},
		{name: "Jedis list", env: "java"},
		{name: "Lettuce list", env: "java", retry: true, resends: "Lettuce"},
		{name: "Lettuce list without reconnecting", driver: "Lettuce list", env: "java"},
	}
}

// addresses are those of a node, or of what stands for one.
type addresses struct{ resp, http string }

// url is how its conversations are reached.
func (l library) url(a addresses) string {
	scheme, at, database := "redis", a.resp, plainDatabase
	if l.http {
		scheme, at = "http", a.http
	}
	if l.ids {
		database = idsDatabase
	}
	return fmt.Sprintf("%s://%s/%d", scheme, at, database)
}

// places are where drivers lie.
type places struct {
	installed  string // bin/compat
	goDriver   string
	goAdapters string
}

// drivers are where they lie; those in Go are built, if there is one to drive.
func drivers(ctx context.Context, all []library, dir, installed string) (places, error) {
	p := places{installed: installed, goDriver: filepath.Join(dir, "go-driver"),
		goAdapters: filepath.Join(dir, "go-adapters")}
	isIn := func(env string) bool {
		return slices.ContainsFunc(all, func(l library) bool { return l.env == env })
	}
	if isIn("go") {
		if err := build(ctx, ".", "./test/compat/golang", p.goDriver); err != nil {
			return p, err
		}
	}
	if isIn("sdk-go") {
		return p, build(ctx, "test/compat/golang/adapters", ".", p.goAdapters)
	}
	return p, nil
}

// command is the command line of a library's driver.
func (l library) command(p places) []string {
	dir := filepath.Join(p.installed, l.env)
	switch l.env {
	case "go":
		return []string{p.goDriver}
	case "sdk-go":
		return []string{p.goAdapters}
	case "javascript":
		return []string{"node", filepath.Join(dir, "driver.mjs"), "./published.mjs"}
	case "sdk-typescript":
		return []string{"node", "test/compat/javascript/driver.mjs", "./turnlog-adapters.mjs"}
	case "java":
		return javaCommand(dir, "lib")
	case "sdk-java":
		return javaCommand(filepath.Join(p.installed, "java"), "lib-turnlog")
	}
	return []string{filepath.Join(dir, "bin", "python"), "test/compat/python/driver.py"}
}

func javaCommand(dir, libraries string) []string {
	return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(dir, "classes") + ":" +
		filepath.Join(dir, libraries, "*"), "compat.Driver"}
}

// today is one of the libraries that the short form drives in turn.
func today(all []library, now time.Time) library {
	daily := slices.DeleteFunc(slices.Clone(all), func(l library) bool { return !l.daily })
	return daily[now.Unix()/(24*60*60)%int64(len(daily))]
}

// part is what install.sh installs for a library; empty: nothing.
func (l library) part() string {
	switch l.env {
	case "go", "sdk-go":
		return ""
	case "javascript", "java", "sdk-python", "sdk-python-crewai", "sdk-typescript":
		return l.env
	case "sdk-java":
		return "java"
	}
	return "python/" + l.env + ".txt"
}

// build compiles a program of this source tree: a package of the module in a directory.
func build(ctx context.Context, module, pkg, to string) error {
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", to, pkg)
	cmd.Dir = filepath.Join(root, module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
