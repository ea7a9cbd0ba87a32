// Package driver is what the drivers of histories in Go have in common; test/compat/README.md has the protocol.
package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Config is the first line of the input.
type Config struct {
	Subject   string `json:"subject"`
	URL       string `json:"url"`
	Retry     bool   `json:"retry"`
	Prefix    string `json:"prefix"`
	Slots     int    `json:"slots"`
	Messages  int    `json:"messages"`
	ReadEvery int    `json:"read_every"`
	PauseMS   int    `json:"pause_ms"`
}

// History is the conversations of a library, and its methods are called by several goroutines, each with its own
// conversation.
type History interface {
	Add(ctx context.Context, conversation, text string) error // the text is the message's id, too
	Texts(ctx context.Context, conversation string) ([]string, error)
	Close() error
}

// Library is what can be driven.
type Library struct {
	Module string // whose version is reported
	Name   string // under which
	Open   func(c Config, url string) (History, error)
}

// command is any later line.
type command struct {
	Start, Stop bool
	Read        string
	Names       []string
}

// driver owns a history and its conversations.
type driver struct {
	Config
	subject Library
	history History
	stop    chan struct{}
	slots   sync.WaitGroup

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
}

// Main drives one of the libraries, by name, until its input ends.
func Main(libraries map[string]Library) {
	if err := run(libraries); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(libraries map[string]Library) error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	d := &driver{stop: make(chan struct{}), out: json.NewEncoder(os.Stdout)}
	if err := in.Decode(&d.Config); err != nil {
		return err
	}
	var known bool
	if d.subject, known = libraries[d.Subject]; !known {
		return fmt.Errorf("no library %q", d.Subject)
	}
	var err error
	if d.history, err = d.subject.Open(d.Config, d.URL); err != nil {
		return err
	}
	d.say(map[string]any{"ready": map[string]string{d.subject.Name: version(d.subject.Module)}})
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
		other, err := d.subject.Open(d.Config, c.Read)
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

// slot writes one conversation after the other, one message after the other.
func (d *driver) slot(number int) {
	for round := 0; ; round++ {
		name := fmt.Sprintf("%s-%d-%d", d.Prefix, number, round)
		for n := range d.Messages {
			d.add(name, n)
			if n%d.ReadEvery == 0 {
				d.read(d.history, "read", name)
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
	if err := d.history.Add(context.Background(), name, fmt.Sprintf("%s/%d", name, n)); err != nil {
		reason = err.Error()
	}
	d.say(map[string]any{"add": name, "n": n, "took": time.Since(start).Seconds(), "error": reason})
}

func (d *driver) read(h History, kind, name string) {
	seen, err := h.Texts(context.Background(), name)
	if err != nil {
		d.say(map[string]any{kind: name, "error": err.Error()})
		return
	}
	d.say(map[string]any{kind: name, "seen": seen})
}

func (d *driver) say(line any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.Encode(line) // a driver whose reader is gone ends with its input
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version[1:]
		}
	}
	return ""
}
