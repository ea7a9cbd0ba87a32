package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Damage is done to the files of a node that is down. The node must come to the state
// of the others by itself, or, if it was more than a flipped bit, refuse to start,
// say what is wrong, and what to do; which is then done.
func damageFaults() []Fault {
	damaged := func(name, about string, do func(*Env, *cluster.Node) (string, error)) Fault {
		return Fault{Name: name, About: about, Nodes: 3, Alone: true, Pick: to(aFollower, damage(do))}
	}
	return []Fault{
		damaged("flip-log", "a bit of the log is flipped while the node is down", flip("wal/*.seg")),
		damaged("flip-manifest", "a bit of the log's manifest is flipped", flip("wal/manifest")),
		damaged("flip-state", "a bit of the state file is flipped", flip("state.db")),
		damaged("flip-blocks", "a bit of the files with messages is flipped", flip("blocks/*")),
		damaged("flip-term", "a bit of the file with term and vote is flipped", flip("vote")),
		damaged("flip-marker", "a bit of the snapshot marker is flipped", flip("snapshots/snapshot.json")),
		damaged("flip-identity", "a bit of the identity is flipped", flip("identity.json")),
		damaged("lost-segment", "a segment of the log is gone", lose("wal/*.seg")),
		damaged("lost-log", "the whole log is gone", lose("wal")),
		damaged("lost-state", "the state file is gone", lose("state.db")),
		damaged("lost-blocks", "a file with messages is gone", lose("blocks/*")),
		damaged("lost-term", "the file with term and vote is gone", lose("vote")),
		damaged("lost-marker", "the snapshot marker is gone", lose("snapshots/snapshot.json")),
		damaged("lost-identity", "the identity is gone", lose("identity.json")),
	}
}

// besideOne is part of what a node says whose log is damaged, and before the damage tells of one
// other voter only: it rightly does not rely on members that may have been added since.
const besideOne = "of 2 voters, as far as is known, 1 are other nodes"

const refusalWait = 15 * time.Second

// damage does something to a node's files. What do returns says what it was.
func damage(do func(*Env, *cluster.Node) (string, error)) func(context.Context, *Env, *cluster.Node) (healer, error) {
	return func(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
		ctx = context.WithoutCancel(ctx) // Heal starts nodes, but does not repair them
		if err := n.Kill(); err != nil {
			return nil, err
		}
		what, err := do(e, n)
		if err != nil || what == "" {
			return starts(n), err
		}
		e.Recorder.Note(n.ID, what)
		heals := strings.HasPrefix(what, "bit ") && HealsFlippedBits(n)
		if err := n.Start(); err != nil {
			return nil, err
		}
		n.Expect(true)
		watch, cancel := context.WithTimeout(ctx, refusalWait)
		defer cancel()
		if err := testcluster.Until(watch, n.ID+" refuses to start or is ready",
			func() bool { return n.Ready(watch) || !n.Running() }); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if n.Running() {
			e.Recorder.Note(n.ID, what+": started")
			return nil, e.unharmed(ctx, n, what)
		}
		if heals && !strings.Contains(n.Output(), besideOne) {
			return nil, fmt.Errorf("%s: the node refused, and did not repair it: %s", what, n.Output())
		}
		return nil, e.advised(ctx, n, what)
	}
}

// HealsFlippedBits reports whether a node must be able to repair any single flipped bit by itself: its
// version keeps second copies, and there is a snapshot marker, so that its log is not the only record
// of the members.
func HealsFlippedBits(n *cluster.Node) bool {
	return len(files(n, "snapshots/snapshot-copy.json")) > 0
}

// files returns the node's files of that pattern, oldest first.
func files(n *cluster.Node, pattern string) []string {
	names, _ := filepath.Glob(filepath.Join(n.Dir, pattern))
	slices.Sort(names)
	return names
}

// flip flips a bit in what a file has, which is not the zeros at its end, nor
// the last tenth of what comes before: the last write of a log may be torn.
func flip(pattern string) func(*Env, *cluster.Node) (string, error) {
	return func(e *Env, n *cluster.Node) (string, error) {
		names := files(n, pattern)
		if len(names) == 0 {
			return "", nil
		}
		name := names[e.Rand.IntN(len(names))]
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		used := len(content)
		for used > 0 && content[used-1] == 0 {
			used--
		}
		if used == 0 {
			return "", nil
		}
		at, bit := e.Rand.IntN(max(1, used*9/10)), e.Rand.IntN(8)
		content[at] ^= 1 << bit
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		_, err = f.WriteAt(content[at:at+1], int64(at))
		return fmt.Sprintf("bit %d of byte %d of %d in %s flipped", bit, at, used, filepath.Base(name)),
			errors.Join(err, f.Close())
	}
}

// lose removes a file, or a folder.
func lose(pattern string) func(*Env, *cluster.Node) (string, error) {
	return func(e *Env, n *cluster.Node) (string, error) {
		names := files(n, pattern)
		if len(names) == 0 {
			return "", nil
		}
		name := names[e.Rand.IntN(len(names))]
		return name[len(n.Dir)+1:] + " removed", os.RemoveAll(name)
	}
}
