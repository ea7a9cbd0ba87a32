package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// The drill takes backups while faults happen, as an operator's schedule does. At last all nodes and their data are
// lost, and a new cluster begins with one of the backups: it must have everything that was acknowledged before
// that backup began, nothing twice, and nothing that one index does not explain (restored.go).

// takenBackup is a backup of the cluster.
type takenBackup struct {
	path  string
	node  string        // that it was read from
	began time.Duration // by the history's clock
	index uint64

	messages uint64 // that it has
}

// backUp takes backups of one node after the other until ctx ends. A node may refuse, or die, for the faults.
func backUp(ctx context.Context, r *run) error {
	rnd := rand.New(rand.NewPCG(r.seed, 19))
	for i := 0; ctx.Err() == nil; i++ {
		n := r.cluster.Nodes[rnd.IntN(len(r.cluster.Nodes))]
		b, err := r.takeBackup(ctx, n.Node, filepath.Join(r.dir, fmt.Sprintf("backup-%d.tlb", i)))
		if err != nil {
			r.rec.Note(n.ID, fmt.Sprintf("no backup: %v", err))
		} else {
			r.rec.Note(n.ID, fmt.Sprintf("a backup as of log entry %d", b.index))
			r.backups = append(r.backups, b)
		}
		sleep(ctx, time.Second+time.Duration(rnd.Int64N(int64(time.Second))))
	}
	return nil
}

func (r *run) takeBackup(ctx context.Context, n *testcluster.Node, path string) (b takenBackup, err error) {
	status, err := n.Status(ctx)
	if err != nil {
		return b, err
	}
	req, err := n.Request(ctx, http.MethodGet, "/v1/cluster/backup", nil)
	if err != nil {
		return b, err
	}
	b = takenBackup{path: path, node: n.ID, began: r.rec.Now()}
	resp, err := n.Do(req)
	if err != nil {
		return b, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return b, errors.New(resp.Status)
	}
	if b.index, err = strconv.ParseUint(resp.Header.Get("Turnlog-Index"), 10, 64); err != nil {
		return b, err
	}
	file, err := os.Create(path)
	if err != nil {
		return b, err
	}
	about := backup.Description{ID: filepath.Base(path), Created: time.Now().UTC(), ClusterID: status.ID, NodeID: n.ID,
		Index: b.index, Bytes: resp.ContentLength}
	_, err = backup.Write(file, about, resp.Body)
	return b, errors.Join(err, file.Close())
}

// restoreBackup begins a new cluster with one of the backups, and holds it against the history.
func restoreBackup(ctx context.Context, r *run) error {
	if len(r.backups) == 0 {
		return errors.New("no backup could be taken")
	}
	for i := range r.backups {
		b := &r.backups[i]
		_, s, err := backup.VerifyFile(b.path)
		if err != nil {
			return fmt.Errorf("the backup of %s, as of log entry %d: %w", b.node, b.index, err)
		}
		b.messages = s.Messages
	}
	worth := worthRestoring(r.backups)
	b := worth[rand.New(rand.NewPCG(r.seed, 23)).IntN(len(worth))]
	r.report.Show("%d backups were taken; a new cluster began with that of %s, as of log entry %d",
		len(r.backups), b.node, b.index)
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	if err := r.beginWith(ctx, b.path); err != nil {
		return fmt.Errorf("the new cluster: %w", err)
	}
	h, err := history.Load(filepath.Join(r.dir, "history.jsonl"))
	if err != nil {
		return err
	}
	for _, n := range r.cluster.Nodes {
		has, err := r.work.Look(ctx, n)
		if err != nil {
			return fmt.Errorf("after the restore, %s: %w", n.ID, err)
		}
		for _, problem := range checkRestored(h.Operations, int64(b.began), has) {
			r.report.Fail("restored from the backup as of log entry %d, read at %s: %s", b.index, n.ID, problem)
		}
		if n == r.cluster.Nodes[0] {
			defer func() {
				r.report.Show("the new cluster has %d messages, in %d sessions", messagesOf(has), len(has))
			}()
			if err := r.retryAll(ctx, h.Operations, has); err != nil {
				return err
			}
		}
	}
	return r.stop()
}

// worthRestoring returns the backups that have at least a tenth of the messages of the fullest one: the first is taken
// as soon as the work begins, and a cluster that begins with next to nothing shows nothing.
func worthRestoring(backups []takenBackup) (worth []takenBackup) {
	most := uint64(0)
	for i := range backups {
		most = max(most, backups[i].messages)
	}
	for i := range backups {
		if backups[i].messages >= most/10 {
			worth = append(worth, backups[i])
		}
	}
	return worth
}

// beginWith destroys all data, and begins a new cluster with a backup, on the same addresses.
func (r *run) beginWith(ctx context.Context, path string) error {
	first := r.cluster.Nodes[0]
	for _, n := range r.cluster.Nodes {
		if err := os.RemoveAll(n.Dir); err != nil {
			return err
		}
		i := slices.Index(n.Args, "--initial-cluster")
		n.Args = slices.Delete(n.Args, i, i+2)
		if n != first {
			n.Args = append(n.Args, "--join")
		}
	}
	out, err := exec.CommandContext(ctx, r.binary, "restore", path, "--data-dir", first.Dir, "--node-id", first.ID,
		"--raft-addr", first.RaftAddr).CombinedOutput()
	if err != nil {
		return fmt.Errorf("restore: %w: %s", err, out)
	}
	if err := first.Start(); err != nil {
		return err
	}
	if err := first.WaitReady(ctx); err != nil {
		return err
	}
	for _, n := range r.cluster.Nodes[1:] {
		if err := n.Start(); err != nil {
			return err
		}
		var refused error
		if err := testcluster.Until(ctx, n.ID+" is added", func() bool {
			refused = first.Add(ctx, n.Node)
			return refused == nil || strings.Contains(refused.Error(), "EXISTS")
		}); err != nil {
			return fmt.Errorf("%w: %w", err, refused)
		}
	}
	if err := r.cluster.WaitReady(ctx); err != nil {
		return err
	}
	_, err = r.cluster.WaitHashes(ctx)
	return err
}

// retryAll sends the last append under ids that each session has once more, as a client does that had no answer.
func (r *run) retryAll(ctx context.Context, ops []history.Operation, has map[string]history.Result) error {
	for session, op := range lastAppends(ops, has) {
		got, err := r.work.Again(ctx, r.cluster.Nodes[0], session, op.Call)
		if err != nil {
			return fmt.Errorf("operation %d is sent again: %w", op.ID, err)
		}
		if !got.Duplicate || got.First != op.Result.First || got.Last != op.Result.Last {
			r.report.Fail("operation %d is sent again to the restored cluster, and answered with %+v", op.ID, got)
		}
	}
	return nil
}

// lastAppends returns, by session, the appends under ids that end where the restored session does.
func lastAppends(ops []history.Operation, has map[string]history.Result) map[string]*history.Operation {
	last := make(map[string]*history.Operation)
	for i := range ops {
		op := &ops[i]
		if op.Call.Func == history.Append && op.Outcome == history.OK && op.Call.IDs && !op.Call.Retries &&
			op.Result.Last == has[op.Session].Last {
			last[op.Session] = op
		}
	}
	return last
}

func messagesOf(has map[string]history.Result) (n int) {
	for _, r := range has {
		n += len(r.Messages)
	}
	return n
}
