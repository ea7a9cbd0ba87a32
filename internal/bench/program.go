package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
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

// Perform does the job that it reads from in, and writes the Result to out: an
// empty one after a fill. All clients are connected before time is measured.
func Perform(ctx context.Context, in io.Reader, out io.Writer,
	open func(ctx context.Context, addr string) (target.StoreClient, error)) error {
	var job Job
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	t := target.Target{Name: job.Target, Processes: job.Processes}
	defer func() {
		for _, c := range t.Clients {
			c.Close()
		}
	}()
	for range job.Config.Clients {
		c, err := open(ctx, job.Addr)
		if err != nil {
			return fmt.Errorf("connecting to %s: %w", job.Addr, err)
		}
		t.Clients = append(t.Clients, c)
	}
	var res Result
	if job.Fill > 0 {
		if err := Fill(ctx, t, job.Config, job.Fill, new(generator.Live)); err != nil {
			return err
		}
	} else {
		w, err := FindWorkload(job.Workload)
		if err != nil {
			return err
		}
		if res, err = Run(ctx, t, w, job.Config, new(generator.Live)); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(&res)
}
