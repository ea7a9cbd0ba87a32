package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// client is a Redis client whose handshake is recorded.
type client struct {
	name string
	// command connects to the URL that is appended to it, and sends what ends the
	// record; nil: go-redis, in this program.
	command []string
	more    string // an argument after the URL
}

// clients are all whose handshakes are recorded, in the versions that the lock files
// name.
func clients(installed string) []client {
	var all []client
	for _, lock := range []string{"redis-5", "redis-6", "redis-7", "redis-8"} {
		python := []string{filepath.Join(installed, lock, "bin", "python"), "test/compat/python/handshake.py"}
		name := "redis-py " + pinned("test/compat/python/"+lock+".txt", "redis==")
		all = append(all, client{name, python, "sync"}, client{name + ", asyncio", python, "asyncio"})
	}
	dir := filepath.Join(installed, "javascript")
	for _, p := range []string{"redis", "redis5", "redis6", "ioredis", "ioredis6"} {
		name := map[bool]string{true: "ioredis ", false: "node-redis "}[strings.HasPrefix(p, "io")]
		version := pinned(filepath.Join(dir, "node_modules", p, "package.json"), `"version": "`)
		all = append(all, client{name + version, []string{"node", filepath.Join(dir, "handshake.mjs")}, p})
	}
	all = append(all, client{name: "go-redis " + pinned("go.mod", "go-redis/v9 v")})
	dir = filepath.Join(installed, "java")
	for _, lib := range []string{"lib", "lib-other"} {
		java := []string{"java", "-cp", filepath.Join(dir, "classes") + ":" + filepath.Join(dir, lib, "*"),
			"compat.Handshake"}
		all = append(all, client{"Jedis " + jar(dir, lib, "jedis"), java, "jedis"},
			client{"Lettuce " + jar(dir, lib, "lettuce-core"), java, "lettuce-core"})
	}
	return all
}

// pinned returns what follows a text in a file, up to the end of the word.
func pinned(file, after string) string {
	text, _ := os.ReadFile(file)
	_, rest, _ := strings.Cut(string(text), after)
	return strings.TrimSpace(rest[:max(0, strings.IndexAny(rest+"\n", " \",\n"))])
}

// jar returns the version of a Java package from the name of its file.
func jar(dir, lib, name string) string {
	files, _ := filepath.Glob(filepath.Join(dir, lib, name+"-[0-9]*.jar"))
	if len(files) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), name+"-"), ".jar")
}

const handshakeLimit = time.Minute

// connect lets the client connect to the URL.
func (c client) connect(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	if c.command == nil {
		options, err := redis.ParseURL(url)
		if err != nil {
			return err
		}
		rdb := redis.NewClient(options)
		defer rdb.Close()
		return rdb.Echo(ctx, "connected").Err()
	}
	words := append(append([]string(nil), c.command...), url, c.more)
	if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c.name, err, out)
	}
	return nil
}

// runHandshakes records what each client sends when it connects to database 3 of a
// node, and compares that with the page, or writes it there.
func (a *arguments) runHandshakes(ctx context.Context, dir, installed string) (bool, error) {
	c, err := cluster.New(cluster.Config{Binary: a.binary, Dir: dir, Nodes: 1})
	if err != nil {
		return false, err
	}
	defer c.Close()
	start, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.Start(start); err != nil {
		return false, err
	}
	var b strings.Builder
	b.WriteString("| client | sends on connecting to database 3 |\n|---|---|\n")
	for _, client := range clients(installed) {
		tap, err := newTap(c.Nodes[0].RESPAddr)
		if err != nil {
			return false, err
		}
		err = client.connect(ctx, "redis://"+tap.address()+"/3")
		notes := tap.close()
		if err != nil {
			return false, err
		}
		fmt.Fprintf(&b, "| %s | %s |\n", client.name, strings.Join(notes, ", "))
	}
	fmt.Print(b.String())
	if a.write {
		return true, rewrite("handshakes", b.String())
	}
	_, documented, _, err := section("handshakes")
	if err != nil {
		return false, err
	}
	if strings.TrimSpace(documented) != strings.TrimSpace(b.String()) {
		fmt.Printf("FAILED: %s says otherwise; --write corrects it. It has:\n%s\n", page, strings.TrimSpace(documented))
		return false, nil
	}
	fmt.Println("as documented")
	return true, nil
}
