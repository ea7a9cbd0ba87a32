package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// What a driver is told to do; README.md has the protocol.
const (
	slots     = 4   // conversations at the same time
	messages  = 100 // in each; then another one begins
	readEvery = 10
	pauseMS   = 30 // between messages, as long as a very fast model
)

const (
	readyLimit = 90 * time.Second // interpreters and imports take their time
	stopLimit  = 90 * time.Second // from "stop" until every call has returned
	readLimit  = 90 * time.Second
	endLimit   = 60 * time.Second
)

// driver is a driver process.
type driver struct {
	subject library
	record  *record
	process *os.Process
	in      io.WriteCloser
	answers chan line     // ready and done lines; closed when the process has ended
	ended   chan struct{} // closed with it
	err     error         // why it ended, if not well; read after ended
}

// line is one line of a driver's output.
type line struct {
	Ready map[string]string `json:"ready,omitempty"`
	Done  string            `json:"done,omitempty"`
	Note  string            `json:"note,omitempty"`

	// The conversation that this is about: a call that appended to it, or that
	// opened it, or read it, or read it at the end.
	Add   string `json:"add,omitempty"`
	Open  string `json:"open,omitempty"`
	Read  string `json:"read,omitempty"`
	Final string `json:"final,omitempty"`

	N     int      `json:"n"`
	Took  float64  `json:"took"` // seconds
	Seen  []string `json:"seen,omitempty"`
	Error string   `json:"error,omitempty"`
}

// startDriver starts the driver of l, which will talk to at, and waits until it
// has connected. Everything that it says is kept in dir. The process is gone when
// ctx is done.
func startDriver(ctx context.Context, l library, p places, at addresses, dir string) (*driver, error) {
	file := filepath.Join(dir, fileName(l.name))
	words := l.command(p)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	stderr, err := os.Create(file + ".stderr")
	if err != nil {
		return nil, err
	}
	defer stderr.Close() // the process has its own
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w; test/compat/install.sh installs what it needs", l.name, err)
	}
	d := &driver{subject: l, record: newRecord(), process: cmd.Process, in: in, answers: make(chan line, 1),
		ended: make(chan struct{})}
	go d.listen(cmd, out, file+".jsonl")
	name := l.driver
	if name == "" {
		name = l.name
	}
	d.tell(map[string]any{"subject": name, "url": l.url(at), "retry": l.retry, "prefix": fileName(l.name),
		"slots": slots, "messages": messages, "read_every": readEvery, "pause_ms": pauseMS})
	ready, err := d.answer(ctx, readyLimit)
	if err != nil {
		return nil, err
	}
	d.record.versions = ready.Ready
	return d, nil
}

// listen reads what the driver says until it ends.
func (d *driver) listen(cmd *exec.Cmd, out io.Reader, file string) {
	defer close(d.ended)
	defer close(d.answers)
	err := d.take(out, file)
	if err != nil {
		cmd.Process.Kill()
	}
	d.err = errors.Join(err, cmd.Wait())
}

func (d *driver) take(out io.Reader, file string) error {
	keep, err := os.Create(file)
	if err != nil {
		return err
	}
	defer keep.Close()
	in := bufio.NewScanner(out)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		keep.Write(append(in.Bytes(), '\n'))
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return fmt.Errorf("not a line of the protocol: %q", in.Text())
		}
		if l.Ready != nil || l.Done != "" {
			d.answers <- l
			continue
		}
		d.record.take(l)
	}
	return in.Err()
}

func (d *driver) tell(command any) {
	text, err := json.Marshal(command)
	if err != nil {
		panic(err) // of maps of strings
	}
	d.in.Write(append(text, '\n')) // if the driver has ended, answer says so
}

func (d *driver) answer(ctx context.Context, limit time.Duration) (line, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case l, ok := <-d.answers:
		if !ok {
			<-d.ended
			return l, fmt.Errorf("%s: the driver ended by itself: %v", d.subject.name, d.err)
		}
		return l, nil
	case <-ctx.Done():
		return line{}, fmt.Errorf("%s: no answer from the driver: %w", d.subject.name, ctx.Err())
	}
}

func (d *driver) start() { d.tell(map[string]bool{"start": true}) }

// stop lets the driver finish its calls.
func (d *driver) stop(ctx context.Context) error {
	d.tell(map[string]bool{"stop": true})
	_, err := d.answer(ctx, stopLimit)
	return err
}

// read has the driver read every conversation at a node, through the library.
func (d *driver) read(ctx context.Context, at addresses) error {
	d.tell(map[string]any{"read": d.subject.url(at), "names": d.record.names()})
	_, err := d.answer(ctx, readLimit)
	return err
}

// close ends the driver.
func (d *driver) close() error {
	d.in.Close()
	select {
	case <-d.ended:
		return d.err
	case <-time.After(endLimit):
		d.process.Kill()
		<-d.ended
		return fmt.Errorf("%s: the driver does not end with its input", d.subject.name)
	}
}

// together does something to all drivers at once.
func together(drivers []*driver, f func(*driver) error) error {
	errs := make([]error, len(drivers))
	var all sync.WaitGroup
	for i, d := range drivers {
		all.Go(func() { errs[i] = f(d) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// fileName is a library's name as part of file names and keys.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
