package turnlogtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"

	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// nodeEnv has the settings of the node that a process is to run in place of its tests.
const nodeEnv = "TURNLOGTEST_NODE"

// reports is the descriptor on which the process of a node tells whom the node takes for the leader,
// a line each time that this changes.
const reports = 3

// init makes the process of a node what it is. It has to come before anything that the tests start.
func init() {
	text, ok := os.LookupEnv(nodeEnv)
	if !ok {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a node until the process that started this one has gone.
func serve(settings string) error {
	var cfg config.Config
	if err := json.Unmarshal([]byte(settings), &cfg); err != nil {
		return err
	}
	n, err := openNode(&cfg, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // of which the other process has the end
		stop()
	}()
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, nil) }()
	out := os.NewFile(reports, "reports")
	for {
		leader, changed := n.Leader()
		if _, err := fmt.Fprintln(out, leader); err != nil {
			stop()
			return <-ended
		}
		select {
		case <-changed:
		case err := <-ended:
			return err
		}
	}
}

// process is a running node, seen from the test.
type process struct {
	*testcluster.Process
	stdin   *os.File      // its end would tell the node to stop
	silent  chan struct{} // closed when the last report has been taken
	started chan struct{} // closed with the first
}

// startProcess runs this program again as a node. report gets each of the node's reports, and ended
// how the process ended, each in a goroutine of its own.
func startProcess(cfg *config.Config, log string, report, ended func(string)) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		ourIn.Close()
		return nil, err
	}
	defer theirOut.Close()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	cmd.Stdin, cmd.ExtraFiles = theirIn, []*os.File{theirOut}
	p := &process{stdin: ourIn, silent: make(chan struct{}), started: make(chan struct{})}
	if p.Process, err = testcluster.StartProcess(cfg.NodeID, log, cmd, ended); err != nil {
		ourIn.Close()
		ourOut.Close()
		return nil, err
	}
	go p.listen(ourOut, report)
	return p, nil
}

// listen takes the reports until the process has gone.
func (p *process) listen(out *os.File, report func(string)) {
	defer close(p.silent)
	defer out.Close()
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		report(lines.Text())
		if first {
			close(p.started)
		}
	}
}

// waitStarted waits until the node takes connections, or has ended instead.
func (p *process) waitStarted() error {
	select {
	case <-p.started:
		return nil
	case <-p.Exited():
		return p.Died()
	}
}

// kill ends the process, and returns when nothing of it is left.
func (p *process) kill() {
	p.Kill()
	<-p.silent
	p.stdin.Close()
}
