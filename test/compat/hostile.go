package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

const (
	crowd      = 9_900 // of the 10,000 connections that a node takes
	deaf       = 100   // clients that never read
	stalled    = 100   // clients that stop within a large request
	hostileFor = 15 * time.Second
	// apart is how long one of them comes after the other: what is tried is what
	// they hold, not how fast this machine copies bytes.
	apart = 50 * time.Millisecond

	// What hostile clients may cost, all together, and others meanwhile: generous,
	// for slow machines.
	maxGrowth = 1 << 30
	maxWait   = 2 * time.Second
)

// hostility is a node of a cluster, clients that mean it ill, and one that goes on.
type hostility struct {
	cluster *cluster.Cluster
	node    *cluster.Node // whose clients they are
	conns   []net.Conn
	calm    int64 // bytes that the node's process had before
}

// runHostile reports whether a node served its good clients all the time and kept
// its memory bounded.
func runHostile(ctx context.Context, binary, dir string) (bool, error) {
	if err := raiseFileLimit(); err != nil {
		return false, err
	}
	c, err := cluster.New(cluster.Config{Binary: binary, Dir: dir, Nodes: nodes})
	if err != nil {
		return false, err
	}
	defer c.Close()
	start, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.Start(start); err != nil {
		return false, err
	}
	h := &hostility{cluster: c, node: c.Nodes[0]}
	defer h.leave()
	if err := h.fill(ctx); err != nil {
		return false, err
	}
	h.calm = h.node.ResidentBytes()
	passed := true
	for _, phase := range []struct {
		name  string
		begin func(context.Context) error
	}{
		{"no others", func(context.Context) error { return nil }},
		{fmt.Sprintf("%d idle connections", crowd-deaf-stalled), h.gather},
		{fmt.Sprintf("and %d clients that ask for 1 MiB again and again and never read", deaf), h.ask},
		{fmt.Sprintf("and %d clients that stop within a request of 8 MB", stalled), h.stall},
	} {
		ok, err := h.endure(ctx, phase.name, phase.begin)
		if err != nil {
			return false, err
		}
		passed = passed && ok
	}
	return passed, errors.Join(c.StopAll(settleLimit))
}

// raiseFileLimit lets this process, and nodes that it starts, open enough files.
func raiseFileLimit() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if l.Cur < crowd+500 {
		return fmt.Errorf("only %d open files are allowed; ulimit -n %d is needed", l.Cur, crowd+500)
	}
	return nil
}

// fill stores what the deaf clients will ask for.
func (h *hostility) fill(ctx context.Context) error {
	rdb := redis.NewClient(&redis.Options{Addr: h.node.RESPAddr})
	defer rdb.Close()
	for range 16 {
		if err := rdb.RPush(ctx, "big", strings.Repeat("x", 64<<10)).Err(); err != nil {
			return err
		}
	}
	return nil
}

// endure begins a hostility and has a good client write and read for a while, on
// this node and another.
func (h *hostility) endure(ctx context.Context, name string, begin func(context.Context) error) (bool, error) {
	var waits [2]waitTimes
	var growth int64
	good, stop := context.WithTimeout(ctx, hostileFor)
	defer stop()
	var all sync.WaitGroup
	for i, n := range []*cluster.Node{h.node, h.cluster.Nodes[1]} {
		all.Go(func() { waits[i].work(good, n.RESPAddr) })
	}
	err := begin(good)
	for good.Err() == nil {
		growth = max(growth, h.node.ResidentBytes()-h.calm)
		select {
		case <-good.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	all.Wait()
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	ok := growth < maxGrowth
	fmt.Printf("%s: the node's memory rose by up to %d MiB\n", name, growth>>20)
	for i, where := range []string{"at this node", "at another"} {
		w := &waits[i]
		slices.Sort(w.took)
		n := len(w.took)
		if n == 0 {
			return false, fmt.Errorf("%s: no call %s: %v", name, where, w.err)
		}
		fmt.Printf("    good client %s: %d calls, p50 %v, p99 %v, worst %v, %d errors\n", where, n,
			w.took[n/2].Round(time.Millisecond/10),
			w.took[n*99/100].Round(time.Millisecond/10), w.took[n-1].Round(time.Millisecond), w.errors)
		if w.err != nil {
			fmt.Printf("    the last error: %v\n", w.err)
		}
		ok = ok && w.err == nil && w.took[n-1] < maxWait
	}
	if !ok {
		fmt.Printf("FAILED: %s: at most %d MiB, %v and no error are right\n", name, maxGrowth>>20, maxWait)
	}
	return ok, nil
}

// waitTimes is how long a good client waited for each of its calls.
type waitTimes struct {
	took   []time.Duration
	errors int
	err    error // the last one
}

// work appends and reads until ctx ends.
func (w *waitTimes) work(ctx context.Context, addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer rdb.Close()
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("good-%d", n%100)
		// The last call may end after ctx.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*maxWait)
		start := time.Now()
		err := rdb.RPush(call, key, "hello").Err()
		if err == nil {
			err = rdb.LRange(call, key, -3, -1).Err()
		}
		cancel()
		w.took = append(w.took, time.Since(start))
		if err != nil {
			w.errors++
			w.err = err
		}
	}
}

func (h *hostility) connect() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", h.node.RESPAddr, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connection %d: %w", len(h.conns)+1, err)
	}
	h.conns = append(h.conns, c)
	return c, nil
}

// gather opens connections that stay idle after a PING.
func (h *hostility) gather(context.Context) error {
	for range crowd - deaf - stalled {
		c, err := h.connect()
		if err != nil {
			return err
		}
		io.WriteString(c, "PING\r\n")
		if answer, err := bufio.NewReader(c).ReadString('\n'); answer != "+PONG\r\n" {
			return fmt.Errorf("connection %d: %q, %v", len(h.conns), answer, err)
		}
	}
	return nil
}

// ask sends requests until nothing more can be written.
func (h *hostility) ask(ctx context.Context) error {
	requests := strings.Repeat("LRANGE big 0 -1\r\n", 1000)
	end, _ := ctx.Deadline()
	for range deaf {
		c, err := h.connect()
		if err != nil {
			return err
		}
		c.SetWriteDeadline(end)
		go func() {
			for {
				if _, err := io.WriteString(c, requests); err != nil {
					return // with the deadline, or cut off
				}
			}
		}()
		time.Sleep(apart)
	}
	return nil
}

// stall sends most of a large request, and no more.
func (h *hostility) stall(ctx context.Context) error {
	most := "*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$8000000\r\n" + strings.Repeat("x", 3_000_000)
	end, _ := ctx.Deadline()
	for range stalled {
		c, err := h.connect()
		if err != nil {
			return err
		}
		c.SetWriteDeadline(end)
		go io.WriteString(c, most)
		time.Sleep(apart)
	}
	return nil
}

// leave closes all connections.
func (h *hostility) leave() {
	for _, c := range h.conns {
		c.Close()
	}
}
