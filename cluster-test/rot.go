package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

const (
	rotRounds   = 200 // if there is time
	rotSessions = 24
	rotPayload  = 3 << 10
	// rotWait bounds how long a damaged node may take until it has the state of the
	// others again, or has refused to go on.
	rotWait = 45 * time.Second

	refusedReplaced = "refused, replaced"
)

// rotFlags have nodes flush and compact often, so that there is something in all files.
var rotFlags = []string{"--log-compact-bytes", "512KiB", "--log-tail-bytes", "128KiB", "--memory-budget", "64MiB"}

// rotTrial damages files of nodes at random, one node at a time, while it is stopped or
// running. After each time all nodes must have the same state, and that all that was
// acknowledged. Where more than one bit is damaged, a node may refuse to start: then it has to
// say what to do, and that has to work when it is done to the letter.
type rotTrial struct {
	*run
	rand   *rand.Rand
	env    *nemesis.Env
	all    *client.Client
	want   map[string][]string // what each session holds
	old    map[string]string   // by node: a folder with earlier copies of its files
	counts map[string]int      // by kind of file and outcome
	bad    int
}

// damageAtRandom is the scenario rot.
func damageAtRandom(ctx context.Context, r *run) error {
	t := &rotTrial{
		run: r, rand: rand.New(rand.NewPCG(r.seed, 0x707)),
		want: make(map[string][]string), old: make(map[string]string), counts: make(map[string]int),
	}
	t.env = &nemesis.Env{Cluster: r.cluster, Recorder: r.rec, Rand: t.rand}
	var addrs []string
	for _, n := range r.cluster.Nodes {
		addrs = append(addrs, n.RESPAddr)
	}
	var err error
	if t.all, err = client.New(client.Config{Addrs: addrs}); err != nil {
		return err
	}
	defer t.all.Close()
	end := time.Now().Add(r.Time)
	rounds := 0
	for ; time.Now().Before(end) && rounds < rotRounds && ctx.Err() == nil; rounds++ {
		if err := t.round(ctx, rounds); err != nil {
			return fmt.Errorf("round %d: %w", rounds, err)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		r.report.Show("%s: %d", what, t.counts[what])
	}
	r.report.Show("%d times damaged, %d times wrong", rounds, t.bad)
	return nil
}

// round damages one file, and sees to it that all is well again.
func (t *rotTrial) round(ctx context.Context, number int) error {
	if err := t.write(ctx); err != nil {
		return err
	}
	n := t.cluster.Nodes[t.rand.IntN(len(t.cluster.Nodes))]
	if number%3 == 0 {
		_ = n.Snapshot(ctx) // there may be nothing new
	}
	running := t.rand.IntN(2) == 0
	if t.old[n.ID] == "" || t.rand.IntN(4) == 0 {
		if err := t.keepCopy(n); err != nil {
			return err
		}
	}
	if !running {
		n.Expect(true)
		if err := n.Kill(); err != nil {
			return err
		}
	}
	file, what, err := t.damage(n)
	if err != nil || what == "" {
		return cmpErr(err, t.start(n))
	}
	heals := strings.HasPrefix(what, "bit ") && nemesis.HealsFlippedBits(n)
	state := "stopped"
	if running {
		state = "running"
	}
	what = fmt.Sprintf("%s of %s, %s: %s", file, n.ID, state, what)
	t.rec.Note(n.ID, what)
	if running {
		n.Expect(true)
		t.use(ctx, n)
		if n.Running() {
			if err := n.Kill(); err != nil && n.Running() {
				return err
			}
		}
	}
	outcome, err := t.judge(ctx, n, number, what, heals)
	if err != nil {
		return err
	}
	t.counts[kindOf(file)+", "+state+": "+outcome]++
	return nil
}

// judge lets a damaged node settle, and reports what it must not do; heals: it repairs the damage by itself.
func (t *rotTrial) judge(ctx context.Context, n *cluster.Node, number int, what string, heals bool) (string, error) {
	outcome, err := t.settle(ctx, n)
	if err == nil {
		if heals && outcome == refusedReplaced {
			t.bad++
			t.report.Fail("round %d: %s: the node refused, and did not repair it", number, what)
		}
		return outcome, nil
	}
	t.bad++
	t.report.Fail("round %d: %s: %v", number, what, err)
	if n.Running() {
		n.Expect(true)
		_ = n.Kill()
	}
	if err := t.env.Replace(ctx, n); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return "WRONG", nil
}

func (t *rotTrial) start(n *cluster.Node) error {
	if n.Running() {
		return nil
	}
	return n.Start()
}

// write appends to some sessions, and trims some.
func (t *rotTrial) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rotWait)
	defer cancel()
	for range 8 {
		name := fmt.Sprint("session", t.rand.IntN(rotSessions))
		id := fmt.Sprintf("%x", t.rand.Uint64())
		data := id + strings.Repeat(id[:1], t.rand.IntN(rotPayload))
		err := t.insist(ctx, func() error {
			_, err := t.all.Session(name).Append(ctx, turn.NewMessage{ID: id, Data: []byte(data)})
			return err
		})
		if err != nil {
			return fmt.Errorf("append: %w", err)
		}
		t.want[name] = append(t.want[name], id+" "+data)
	}
	return nil
}

// insist repeats what may fail while leaders change. Appends have ids.
func (t *rotTrial) insist(ctx context.Context, do func() error) error {
	var err error
	until := testcluster.Until(ctx, "a request is served", func() bool {
		err = do()
		return err == nil
	})
	if until != nil {
		return fmt.Errorf("%w: %v", until, err)
	}
	return nil
}

// use reads all through a node that runs on damaged files. It may fail, or end; it must
// not answer with anything else than what was written.
func (t *rotTrial) use(ctx context.Context, n *cluster.Node) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if wrong, _ := t.compare(ctx, n, false); wrong != nil {
		t.bad++
		t.report.Fail("%s, while it ran on damaged files: %v", n.ID, wrong)
	}
}

// settle has a node that was damaged come back, or be replaced if it says so, and returns
// how. The error tells that something is wrong for good.
func (t *rotTrial) settle(ctx context.Context, n *cluster.Node) (outcome string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*rotWait)
	defer cancel()
	outcome = "whole"
	for starts := 0; ; starts++ {
		if !n.Running() {
			if err := n.Start(); err != nil {
				return "", err
			}
		}
		n.Expect(true)
		agreed := t.agrees(ctx, n)
		text := n.Output()
		switch {
		case agreed == nil:
			n.Expect(false)
			if strings.Contains(text, "the state is repaired") {
				outcome = "repaired"
			}
			if starts > 0 {
				outcome += " after a restart"
			}
			wrong, err := t.compare(ctx, n, true)
			return outcome, cmpErr(wrong, err)
		case n.Running():
			return "", agreed
		case strings.Contains(text, "add it a"): // again; older versions end the sentence otherwise
			return refusedReplaced, t.replaced(ctx, n)
		case starts == 2:
			return "", fmt.Errorf("it ends again and again, without advice: %s", lastLines(text))
		}
	}
}

// replaced follows the advice.
func (t *rotTrial) replaced(ctx context.Context, n *cluster.Node) error {
	delete(t.old, n.ID)
	if err := t.env.Replace(ctx, n); err != nil {
		return err
	}
	if err := t.agrees(ctx, n); err != nil {
		return err
	}
	wrong, err := t.compare(ctx, n, true)
	return cmpErr(wrong, err)
}

// agrees waits until the node is ready and all nodes have the same state; it returns early
// when the node ends.
func (t *rotTrial) agrees(ctx context.Context, n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(ctx, rotWait)
	defer cancel()
	if exited := n.Exited(); exited != nil {
		go func() { // ends with ctx
			select {
			case <-exited:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	if err := testcluster.Until(ctx, n.ID+" is ready", func() bool { return n.Ready(ctx) }); err != nil {
		return err
	}
	_, err := t.cluster.WaitHashes(ctx)
	return err
}

// compare reads all sessions through a node, from its own state. wrong tells of content
// that is not what was written, err of a read that failed.
func (t *rotTrial) compare(ctx context.Context, n *cluster.Node, all bool) (wrong, err error) {
	c, err := client.New(client.Config{Addrs: []string{n.RESPAddr}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, name := range slices.Sorted(maps.Keys(t.want)) {
		s := c.Session(name)
		if all {
			s = s.Stale() // the hashes agree: it has applied everything
		}
		var got []string
		var failed error
		for m, err := range s.All(ctx, 0) {
			if err != nil {
				failed = err
				break
			}
			got = append(got, m.ID+" "+string(m.Data))
		}
		switch {
		case failed != nil:
			err = failed
		case !slices.Equal(got, t.want[name]):
			return fmt.Errorf("%s has %d messages, which are not the %d that were written", name, len(got),
				len(t.want[name])), err
		}
	}
	return nil, err
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
