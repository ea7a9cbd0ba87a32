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
	"sync"
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
	stderr bytes.Buffer
}

// spawn starts a process and waits until it is ready.
func (p *probe) spawn(ctx context.Context, a assignment) (*child, error) {
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
		return l, fmt.Errorf("writer process: %w: %s", err, bytes.TrimSpace(c.stderr.Bytes()))
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
		return fmt.Errorf("writer process: %w: %s", werr, bytes.TrimSpace(c.stderr.Bytes()))
	}
	return err
}

// spawnAll starts a process for each assignment. end, which must be called also after
// an error, ends those that there are.
func (p *probe) spawnAll(ctx context.Context, as []assignment) (children []*child, end func(), err error) {
	children = make([]*child, len(as))
	err = p.openings.measure(func() error {
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
func (p *probe) processes(ctx context.Context, as []assignment) error {
	children, end, err := p.spawnAll(ctx, as)
	defer end()
	if err != nil {
		return err
	}
	return together(len(as), func(i int) error { return children[i].follow(&p.history) })
}
