package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/testcluster"
)

// A store whose client library is not to be a dependency of turnlog is measured by
// a program of its own: it reads a Job from its standard input, as JSON, measures
// with Perform, and writes the Result to its standard output.

// Job is what such a program is asked to do.
type Job struct {
	Addr      string `json:"addr"`           // HOST:PORT
	Processes []int  `json:"processes"`      // ids of the servers' processes
	Target    string `json:"target"`         // the store's name in the Result
	Fill      int    `json:"fill,omitempty"` // messages to append to each session, in place of a workload
	Workload  string `json:"workload,omitempty"`
	Config    Config `json:"config"`
}

// StoreClient is one client of such a store, with a connection of its own. It is
// used by one goroutine at a time.
type StoreClient interface {
	// Append adds messages to a session, all or none, and returns when they are
	// durable. The store does not keep the slices.
	Append(ctx context.Context, session string, messages [][]byte) error
	// Read reads the last n messages of a session, linearizably; that there are
	// fewer is an error.
	Read(ctx context.Context, session string, n int) error
	Close() error
}

// Perform does the job that it reads from in, and writes the Result to out: an
// empty one after a fill. All clients are connected before time is measured.
func Perform(ctx context.Context, in io.Reader, out io.Writer,
	open func(ctx context.Context, addr string) (StoreClient, error)) error {
	var job Job
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	t := Target{Name: job.Target, Processes: job.Processes}
	defer func() {
		for _, c := range t.clients {
			c.Close()
		}
	}()
	for range job.Config.Clients {
		c, err := open(ctx, job.Addr)
		if err != nil {
			return fmt.Errorf("connecting to %s: %w", job.Addr, err)
		}
		t.clients = append(t.clients, c)
	}
	var res Result
	if job.Fill > 0 {
		if err := Fill(ctx, t, job.Config, job.Fill, new(Live)); err != nil {
			return err
		}
	} else {
		w, err := FindWorkload(job.Workload)
		if err != nil {
			return err
		}
		if res, err = Run(ctx, t, w, job.Config, new(Live)); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(&res)
}

// perform has a target's program do a job on it. The program ends with ctx.
func (t *Target) perform(ctx context.Context, job Job) (res Result, err error) {
	job.Addr, job.Processes, job.Target = t.Addrs[0], t.Processes, t.Name
	text, err := json.Marshal(&job)
	if err != nil {
		return res, err
	}
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, t.Program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = bytes.NewReader(text), &out, &complaint,
		testcluster.ChildAttributes(syscall.SIGKILL)
	if err := cmd.Run(); err != nil {
		return res, fmt.Errorf("%s: %w: %s", t.Program, err, strings.TrimSpace(complaint.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		return res, fmt.Errorf("what %s wrote is no result: %w", t.Program, err)
	}
	return res, nil
}

// driveClients has each client take operations, in a goroutine of its own, until
// next has no more or ctx ends. A client whose operation failed goes on with the
// next one.
func driveClients(ctx context.Context, clients []StoreClient, cfg Config, r *rand.Rand, rec *recorder,
	next func() ([]step, int, bool)) error {
	payloads := newPayloads(cfg.Size, r)
	var turn sync.Mutex // of what the clients share: next, payloads and rec
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			turn.Lock()
			defer turn.Unlock()
			for ctx.Err() == nil {
				steps, session, ok := next()
				if !ok {
					return
				}
				var messages [][]byte
				for _, s := range steps {
					for range s.messages {
						messages = append(messages, payloads.append(make([]byte, 0, cfg.Size)))
					}
				}
				turn.Unlock()
				begun := time.Now()
				err := takeSteps(ctx, c, cfg.Prefix+strconv.Itoa(session), steps, messages, cfg.Last)
				now := time.Now()
				turn.Lock()
				if err != nil {
					rec.failed(err)
				} else {
					rec.ended(begun, now)
				}
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// takeSteps takes the steps of one operation, which append the messages.
func takeSteps(ctx context.Context, c StoreClient, session string, steps []step, messages [][]byte, last int) error {
	for _, s := range steps {
		var err error
		if s.read {
			err = c.Read(ctx, session, last)
		} else {
			err = c.Append(ctx, session, messages[:s.messages])
			messages = messages[s.messages:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}
