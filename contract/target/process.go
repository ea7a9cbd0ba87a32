package target

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
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/testcluster"
)

const (
	helloTime = 2 * time.Minute // for an adapter to start: interpreters load libraries
	endTime   = 5 * time.Second // for it to end by itself
)

// process is a running adapter. Its methods may be called by any goroutine.
type process struct {
	cmd    *exec.Cmd
	stderr tailBuffer
	hello  wireReply
	turn   chan struct{} // held by a request if the adapter takes one at a time; nil: it takes many
	gone   chan struct{} // closed when the process has ended

	mu      sync.Mutex
	in      io.WriteCloser
	number  uint64
	waiting map[uint64]chan wireReply // requests without an answer, by number; nil: it has ended
}

// startProcess runs the command and exchanges greetings.
func startProcess(ctx context.Context, command string) (*process, error) {
	p := &process{cmd: exec.Command("sh", "-c", command), gone: make(chan struct{}),
		waiting: map[uint64]chan wireReply{}}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = testcluster.ChildAttributes(syscall.SIGKILL) // a group of its own, which end ends
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	if p.hello, err = p.call(ctx, wireRequest{Op: "hello", Protocol: 1}); err != nil {
		p.end(true)
		return nil, fmt.Errorf("adapter %q: %w", command, err)
	}
	if !p.hello.Concurrent {
		p.turn = make(chan struct{}, 1)
	}
	return p, nil
}

// read hands out answers until the process ends.
func (p *process) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r wireReply
		if json.Unmarshal(line, &r) != nil {
			fmt.Fprintf(&p.stderr, "not an answer: %.200s", line)
			break
		}
		p.mu.Lock()
		c := p.waiting[r.Number]
		delete(p.waiting, r.Number)
		p.mu.Unlock()
		if c != nil {
			c <- r // has room for one
		}
	}
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may be stuck writing
	p.cmd.Wait()
	p.mu.Lock()
	for _, c := range p.waiting {
		close(c)
	}
	p.waiting = nil
	p.mu.Unlock()
	close(p.gone)
}

var errGone = errors.New("the adapter has ended")

// call sends a request and waits for its answer.
func (p *process) call(ctx context.Context, r wireRequest) (wireReply, error) {
	if p.turn != nil {
		select {
		case p.turn <- struct{}{}:
			defer func() { <-p.turn }()
		case <-ctx.Done():
			return wireReply{}, notApplied(ctx.Err())
		}
	}
	if d, ok := ctx.Deadline(); ok {
		r.Timeout = max(1, time.Until(d).Milliseconds())
	}
	c := make(chan wireReply, 1)
	if err := p.send(r, c); err != nil {
		return wireReply{}, err
	}
	select {
	case reply, ok := <-c:
		if !ok {
			return wireReply{}, fmt.Errorf("%w: %s", errGone, p.stderr.String())
		}
		return reply, reply.err()
	case <-ctx.Done():
		return wireReply{}, ctx.Err()
	}
}

func (p *process) send(r wireRequest, c chan wireReply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		return notApplied(fmt.Errorf("%w: %s", errGone, p.stderr.String()))
	}
	p.number++
	r.Number = p.number
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.waiting[r.Number] = c
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		delete(p.waiting, r.Number)
		return err
	}
	return nil
}

// end closes the adapter's input, which asks it to end, or kills it.
func (p *process) end(kill bool) {
	if !kill {
		p.in.Close()
		select {
		case <-p.gone:
			return
		case <-time.After(endTime):
		}
	}
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.gone
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
}

func (t *tailBuffer) Write(b []byte) (int, error) {
	const most = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	t.data = t.data[max(0, len(t.data)-most):]
	return len(b), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
