// Golang drives a list history on go-redis; test/compat/README.md has the protocol.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const module = "github.com/redis/go-redis/v9"

// config is the first line of the input.
type config struct {
	URL       string `json:"url"`
	Retry     bool   `json:"retry"`
	Prefix    string `json:"prefix"`
	Slots     int    `json:"slots"`
	Messages  int    `json:"messages"`
	ReadEvery int    `json:"read_every"`
	PauseMS   int    `json:"pause_ms"`
}

// command is any later line.
type command struct {
	Start, Stop bool
	Read        string
	Names       []string
}

// message is an element of a list.
type message struct {
	ID string `json:"id"`
}

// driver owns a client and its conversations.
type driver struct {
	config
	client *redis.Client
	stop   chan struct{}
	slots  sync.WaitGroup

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	d := &driver{stop: make(chan struct{}), out: json.NewEncoder(os.Stdout)}
	if err := in.Decode(&d.config); err != nil {
		return err
	}
	var err error
	if d.client, err = d.open(d.URL); err != nil {
		return err
	}
	d.say(map[string]any{"ready": map[string]string{"go-redis": version()}})
	for in.More() {
		var c command
		if err := in.Decode(&c); err != nil {
			return err
		}
		if err := d.obey(c); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) obey(c command) error {
	switch {
	case c.Start:
		for i := range d.Slots {
			d.slots.Go(func() { d.slot(i) })
		}
	case c.Stop:
		close(d.stop)
		d.slots.Wait()
		d.say(map[string]string{"done": "stop"})
	default:
		other, err := d.open(c.Read)
		if err != nil {
			return err
		}
		defer other.Close()
		for _, name := range c.Names {
			d.read(other, "final", name)
		}
		d.say(map[string]string{"done": "read"})
	}
	return nil
}

func (d *driver) open(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if !d.Retry {
		options.MaxRetries = -1
	}
	return redis.NewClient(options), nil
}

// slot writes one conversation after the other, one message after the other.
func (d *driver) slot(number int) {
	for round := 0; ; round++ {
		name := fmt.Sprintf("%s-%d-%d", d.Prefix, number, round)
		for n := range d.Messages {
			d.add(name, n)
			if n%d.ReadEvery == 0 {
				d.read(d.client, "read", name)
			}
			select {
			case <-d.stop:
				return
			case <-time.After(time.Duration(d.PauseMS) * time.Millisecond):
			}
		}
	}
}

func (d *driver) add(name string, n int) {
	start, reason := time.Now(), ""
	text, _ := json.Marshal(message{ID: fmt.Sprintf("%s/%d", name, n)})
	if err := d.client.RPush(context.Background(), name, text).Err(); err != nil {
		reason = err.Error()
	}
	d.say(map[string]any{"add": name, "n": n, "took": time.Since(start).Seconds(), "error": reason})
}

func (d *driver) read(client *redis.Client, kind, name string) {
	list, err := client.LRange(context.Background(), name, 0, -1).Result()
	if err != nil {
		d.say(map[string]any{kind: name, "error": err.Error()})
		return
	}
	seen := make([]string, len(list))
	for i, text := range list {
		var m message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			m.ID = text // foreign
		}
		seen[i] = m.ID
	}
	d.say(map[string]any{kind: name, "seen": seen})
}

func (d *driver) say(line any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.Encode(line) // a driver whose reader is gone ends with its input
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version[1:]
		}
	}
	return ""
}
