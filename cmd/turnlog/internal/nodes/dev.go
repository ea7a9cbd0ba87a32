package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

const (
	devReadyTime = 60 * time.Second // for all nodes to be ready
	devStopTime  = 20 * time.Second // for a node to stop by itself
)

// devCluster is the cluster of `turnlog dev`: node processes that it owns.
type devCluster struct {
	out   io.Writer
	dir   string
	count int
	base  int      // first port
	extra []string // further flags for each node

	nodes []*devNode
}

func (d *devCluster) run(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	exits := make(chan *devNode, d.count)
	defer d.stop()
	for _, n := range d.nodes {
		if err := n.start(exits); err != nil {
			return err
		}
	}
	if err := d.waitReady(ctx, exits); err != nil || ctx.Err() != nil {
		return err
	}
	d.welcome()
	return d.watch(ctx, exits)
}

// prepare looks at everything that can be in the way before anything is started.
func (d *devCluster) prepare() error {
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return err
	}
	d.dir = dir
	if err := d.checkShape(); err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	secret := filepath.Join(d.dir, "cluster-secret")
	if err := cli.MakeClusterSecret(secret); err != nil {
		return err
	}
	var peers []string
	for i := range d.count {
		n := newDevNode(d.dir, i, d.base+10*i)
		if err := n.checkPorts(); err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
		peers = append(peers, n.id+"="+n.raft)
	}
	for _, n := range d.nodes {
		n.args = append(n.args, "--initial-cluster", strings.Join(peers, ","), "--cluster-secret-file", secret)
		n.args = append(n.args, d.extra...)
	}
	return d.writeShape()
}

// shape is what a directory's cluster cannot change: nodes keep their addresses,
// so under another shape they would never find together.
type shape struct {
	Nodes    int `json:"nodes"`
	PortBase int `json:"port_base"`
}

func (d *devCluster) shapeFile() string { return filepath.Join(d.dir, "dev.json") }

func (d *devCluster) checkShape() error {
	text, err := os.ReadFile(d.shapeFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var have shape
	if err := json.Unmarshal(text, &have); err != nil {
		return fmt.Errorf("%s: %w", d.shapeFile(), err)
	}
	if want := (shape{d.count, d.base}); have != want {
		return cli.Usagef("%s holds a cluster of %s with port base %d; start it as that, give another --data-dir, or "+
			"remove the directory",
			d.dir, cli.Plural(have.Nodes, "node"), have.PortBase)
	}
	return nil
}

func (d *devCluster) writeShape() error {
	text, err := json.Marshal(shape{d.count, d.base})
	if err != nil {
		return err
	}
	return os.WriteFile(d.shapeFile(), text, 0o644)
}

// waitReady waits until every node is ready. It returns nil early if ctx ends.
func (d *devCluster) waitReady(ctx context.Context, exits <-chan *devNode) error {
	fmt.Fprintf(d.out, "starting %s…\n", cli.Plural(d.count, "node"))
	deadline := time.After(devReadyTime)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-exits:
			return fmt.Errorf("%s did not start (%s); the end of %s:\n%s", n.id, n.process.Outcome(), n.logName,
				n.process.LastLines())
		case <-deadline:
			return fmt.Errorf("not every node is ready after %s; see the logs in %s", devReadyTime, d.dir)
		case <-poll.C:
		}
		if d.allReady(ctx) {
			return nil
		}
	}
}

func (d *devCluster) allReady(ctx context.Context) bool {
	for _, n := range d.nodes {
		if !n.isReady(ctx) {
			return false
		}
	}
	return true
}

func (d *devCluster) welcome() {
	first := d.nodes[0]
	addr := ""
	if first.resp != "127.0.0.1:7379" {
		addr = " --addr " + first.resp
	}
	last := d.nodes[len(d.nodes)-1]
	fmt.Fprintf(d.out, "\n%s ready; data and logs are in %s\n\n", cli.Plural(d.count, "node"), d.dir)
	for _, n := range d.nodes {
		fmt.Fprintf(d.out, "  %s  redis://%s   http://%s   pid %d\n", n.id, n.resp, n.http, n.process.PID())
	}
	self := os.Args[0]
	fmt.Fprintf(d.out, `
Try, in another terminal:

  %[1]s append%[2]s alice --role user 'Where is my order?'
  %[1]s read%[4]s alice
  curl http://%[3]s/v1/sessions/alice/messages?last=20

Ctrl-C stops the cluster and keeps its data.
`, self, addr, last.http, " --addr "+last.resp)
}

// watch waits for the end: of ctx, or of the last node.
func (d *devCluster) watch(ctx context.Context, exits <-chan *devNode) error {
	for alive := d.count; ; {
		select {
		case <-ctx.Done():
			fmt.Fprintln(d.out, "\nstopping…")
			return nil
		case n := <-exits:
			alive--
			fmt.Fprintf(d.out, "\n%s has ended (%s); its log is %s. %d of %d nodes run. To start it again:\n  %s\n",
				n.id, n.process.Outcome(), n.logName, alive, d.count, n.commandLine())
			if alive == 0 {
				return errors.New("all nodes have stopped")
			}
		}
	}
}

// stop ends the nodes that still run, all at the same time, and waits for them.
func (d *devCluster) stop() {
	var started []*devNode
	for _, n := range d.nodes {
		if n.process != nil {
			started = append(started, n)
			n.process.Signal(syscall.SIGTERM)
		}
	}
	timeout := time.After(devStopTime)
	for _, n := range started {
		select {
		case <-n.process.Exited():
		case <-timeout:
			fmt.Fprintf(d.out, "%s does not stop; killing it (its data is as safe as after a power cut)\n", n.id)
			n.process.Kill()
			timeout = time.After(0)
		}
	}
}

// isReady asks the node itself.
func (n *devNode) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.http+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// checkPorts reports the first address that is taken.
func (n *devNode) checkPorts() error {
	for _, p := range []struct{ addr, use string }{{n.resp, "RESP"}, {n.http, "HTTP"}, {n.raft, "node to node"}} {
		l, err := net.Listen("tcp", p.addr)
		if err != nil {
			return fmt.Errorf("cannot listen on %s (%s of %s): %w\nIs another `turnlog dev` running? --port-base and "+
				"--data-dir start a second one beside it", p.addr, p.use, n.id, err)
		}
		l.Close()
	}
	return nil
}
