package contract

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract/internal/clock"
)

// A writer process reads its assignment as a line of JSON, opens its handle,
// answers with a line, and begins when it reads another line. From then on every
// line that it writes is an event; the last one says how it ended.

type processLine struct {
	Ready bool   `json:"ready,omitempty"`
	Event *event `json:"event,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// processProbe has processes of their own write.
type processProbe struct{ *probe }

// WriterMain is the main function of a process that Target.Copy starts: it writes
// what it is told to on in, through a handle that open opens, and reports on out.
func WriterMain(ctx context.Context, in io.Reader, out io.Writer, open func(context.Context) (Store, error)) error {
	lines := bufio.NewReader(in)
	var a assignment
	if line, err := lines.ReadBytes('\n'); err != nil {
		return err
	} else if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	var mu sync.Mutex
	e := json.NewEncoder(out)
	tell := func(l processLine) {
		mu.Lock()
		defer mu.Unlock()
		e.Encode(l) // a suite that is gone ends this process by closing in
	}
	w := &writer{assignment: a, open: open, emit: func(ev event) { tell(processLine{Event: &ev}) }}
	if err := w.handle(ctx); err != nil {
		tell(processLine{Done: true, Error: err.Error()})
		return err
	}
	tell(processLine{Ready: true})
	if _, err := lines.ReadBytes('\n'); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // in ends with the suite
		io.Copy(io.Discard, lines)
		cancel()
	}()
	end := processLine{Done: true}
	if err := w.run(ctx); err != nil {
		end.Error = err.Error()
	}
	tell(end)
	return nil
}

// child is a writer process as the suite sees it.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr errorText
}

// errorText is what a process has said of errors so far: a goroutine of the process's writes it while others read.
type errorText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (e *errorText) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(p)
}

func (e *errorText) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.TrimSpace(e.text.String())
}

// spawn starts a process and waits until it is ready.
func (p processProbe) spawn(ctx context.Context, a assignment) (*child, error) {
	c := &child{cmd: p.Target.Copy(ctx)}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 1<<16)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(c.in).Encode(a); err != nil {
		return nil, c.end(err)
	}
	l, err := c.next()
	if err == nil && !l.Ready {
		err = fmt.Errorf("writer process %d: %s", a.Writer, l.Error)
	}
	if err != nil {
		return nil, c.end(err)
	}
	return c, nil
}

func (c *child) next() (processLine, error) {
	var l processLine
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return l, fmt.Errorf("writer process: %w: %s", err, c.stderr.String())
	}
	return l, json.Unmarshal(line, &l)
}

func (c *child) begin() error {
	_, err := io.WriteString(c.in, "go\n")
	return err
}

// follow tells the process to begin and notes what it does.
func (c *child) follow(h *history) error {
	if err := c.begin(); err != nil {
		return err
	}
	for {
		l, err := c.next()
		if err != nil {
			return err
		}
		if l.Event != nil {
			h.record(*l.Event)
		}
		if l.Done {
			if l.Error != "" {
				return errors.New(l.Error)
			}
			return nil
		}
	}
}

// end stops the process and returns err.
func (c *child) end(err error) error {
	c.in.Close()
	if werr := c.cmd.Wait(); err == nil && werr != nil {
		return fmt.Errorf("writer process: %w: %s", werr, c.stderr.String())
	}
	return err
}

// spawnAll starts a process for each assignment. end, which must be called also after
// an error, ends those that there are.
func (p processProbe) spawnAll(ctx context.Context, as []assignment) (children []*child, end func(), err error) {
	children = make([]*child, len(as))
	err = p.openings.Measure(func() error {
		return together(len(as), func(i int) (err error) {
			children[i], err = p.spawn(ctx, as[i])
			return err
		})
	})
	end = func() {
		for _, c := range children {
			if c != nil {
				c.end(nil) // those that ran are gone
			}
		}
	}
	return children, end, err
}

// processes has every assignment carried out by a process of its own, all at once.
func (p processProbe) processes(ctx context.Context, as []assignment) error {
	children, end, err := p.spawnAll(ctx, as)
	defer end()
	if err != nil {
		return err
	}
	return together(len(as), func(i int) error { return children[i].follow(&p.history) })
}

// blueGreen is a deployment: the processes of the new version serve already while
// those of the old one are killed, each in the midst of a save.
func blueGreen(p processProbe) error {
	const old, fresh = 3, 1
	s := p.session("a")
	as := p.crewOf(old+fresh, s, 1<<20, 2) // the old ones never end by themselves
	as[old].Turns = p.Turns
	children, end, err := p.spawnAll(p.ctx, as)
	defer end()
	if err != nil {
		return err
	}
	turns, delays := make([]int, old), make([]time.Duration, old)
	for i := range turns {
		turns[i], delays[i] = 3+p.random.IntN(6), time.Duration(p.random.IntN(3000))*time.Microsecond
	}
	err = together(len(as), func(i int) error {
		if i == old {
			return children[i].follow(&p.history)
		}
		return children[i].killAmid(&p.history, as[i], turns[i], delays[i])
	})
	if err != nil {
		return err
	}
	if err := p.verifyWhole(p.store, s); err != nil {
		return fmt.Errorf("after %d of %d processes were killed while they were saving: %w", old, len(as), err)
	}
	for turn := range 3 {
		if err := p.add(p.store, s, len(as)+1, turn+1, 2); err != nil {
			return fmt.Errorf("after %d of %d processes were killed while they were saving: %w", old, len(as), err)
		}
	}
	return p.verifyWhole(p.store, s)
}

// killAmid tells the process to begin, and kills it so long after it has reported a
// number of turns. Of the turn that is then being saved, nothing is known.
func (c *child) killAmid(h *history, a assignment, turns int, delay time.Duration) error {
	if err := c.begin(); err != nil {
		return err
	}
	last := event{Start: clock.Now(), End: clock.Now()}
	for {
		l, err := c.next()
		if err != nil {
			break // it is gone, or was cut off within a line
		}
		if l.Done {
			return fmt.Errorf("writer process %d ended by itself: %s", a.Writer, l.Error)
		}
		if l.Event == nil {
			continue
		}
		last = *l.Event
		h.record(last)
		if last.Key.Turn == turns {
			time.Sleep(delay)
			c.cmd.Process.Kill()
		}
	}
	if last.Key.Turn < turns {
		return c.end(fmt.Errorf("writer process %d ended after %d turns", a.Writer, last.Key.Turn))
	}
	h.record(event{Op: opAdd, Session: a.Session, Key: turnKey{a.Writer, last.Key.Turn + 1}, Parts: a.Parts,
		Start: last.End, End: clock.Now(), Outcome: unknown, Err: "the process was killed"})
	return nil
}
