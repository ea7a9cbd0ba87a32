package raftstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// The files in testdata/script are stories of a cluster: what happens to which node, what a caller asks of
// which, and behind ---- what it is told. The first leader is called a, the others are b and c. Time is fake,
// nodes, logs and states are real. They are written again by
//
//	go test ./raftstore -run TestScripts -args -rewrite
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		bubble(t, func(t *testing.T, dir string) {
			c := newSimCluster(t, 1, dir, 3)
			defer c.abandon()
			s := &story{simCluster: c, names: map[string]string{}}
			s.begin()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				s.line = d
				f := storyCommands[d.Cmd]
				if f == nil {
					d.Fatalf(t, "there is no command %s", d.Cmd)
				}
				return f(s) + "\n"
			})
			s.close()
		})
	})
}

// story is what happens to a cluster.
type story struct {
	*simCluster
	line   *datadriven.TestData
	names  map[string]string // name → id
	opened map[string]func() // of the logs that hang, by name
}

// begin waits for the first leader, and gives the nodes their names.
func (s *story) begin() {
	s.recover()
	s.within(30*time.Second, "the cluster's level is raised",
		func() bool { return s.leader() != nil && s.leader().Level() == turn.NewestLevel })
	s.names["a"] = s.leader().id
	others := s.others(s.names["a"])
	s.names["b"], s.names["c"] = others[0], others[1]
}

var storyCommands = map[string]func(*story) string{
	"append": (*story).append,
	"read":   (*story).read,
	"await-leader": func(s *story) string {
		old := s.id(0)
		s.within(time.Minute, "another node leads", func() bool { return s.leader() != nil && s.leader().id != old })
		// Chance decides which it is. It is called b.
		if id := s.leader().id; s.names["b"] != id {
			s.names["b"], s.names["c"] = s.names["c"], s.names["b"]
		}
		return "b leads"
	},
	"await-all": func(s *story) string {
		s.recover()
		return "all serve"
	},
	"same-state": func(s *story) string {
		s.sameState()
		return "all states are the same"
	},
	"cut": func(s *story) string {
		s.cut(s.id(0), s.others(s.id(0)), true, true)
		return s.name(0) + " reaches no other node"
	},
	"heal": func(s *story) string {
		s.net.heal()
		return "all reach all"
	},
	"stop": func(s *story) string {
		s.halt(s.id(0))
		return s.name(0) + " stopped"
	},
	"power-cut": func(s *story) string {
		for _, a := range s.line.CmdArgs {
			s.crash(s.names[a.Key])
		}
		return "without power"
	},
	"start": func(s *story) string {
		s.start(s.id(0))
		return s.name(0) + " started"
	},
	"start-empty": (*story).startEmpty,
	"hang":        (*story).hang,
	"release": func(s *story) string {
		s.opened[s.name(0)]()
		return "the disk of " + s.name(0) + " writes again"
	},
	"transfer": func(s *story) string {
		return s.tell(turn.Result{}, s.at().TransferLeadership(s.context()))
	},
	"remove": func(s *story) string { return s.tell(turn.Result{}, s.at().members.RemoveNode(s.context(), s.id(1))) },
	"add": func(s *story) string {
		id := s.id(1)
		s.wipe(id)
		var err error
		if !s.soon(time.Minute, func() bool { err = s.at().members.AddNode(s.context(), id, id); return err == nil }) {
			return s.tell(turn.Result{}, err)
		}
		s.within(time.Minute, "it is a voter", func() bool { return s.isVoter(id) })
		return s.name(1) + " votes"
	},
	// fill appends until the log has been compacted behind what a node lacks.
	"fill": func(s *story) string {
		for i := range 400 {
			op := &turn.Append{Key: storyKey("fill"), Messages: []turn.NewMessage{
				{ID: fmt.Sprint(i), Data: []byte(strings.Repeat("x", 1000))}}}
			if _, err := s.at().Apply(s.context(), op); err != nil {
				return s.tell(turn.Result{}, err)
			}
		}
		return "filled"
	},
	"installed": func(s *story) string {
		s.within(time.Minute, "a snapshot is installed",
			func() bool { n := s.node(s.id(0)); return n != nil && n.Stats().Snapshots.Installed > 0 })
		return s.name(0) + " has a snapshot of another node"
	},
}

func storyKey(name string) turn.Key { return turn.Key{Namespace: turn.DefaultNamespace, Name: name} }

func (s *story) name(i int) string {
	if i >= len(s.line.CmdArgs) {
		s.line.Fatalf(s.t, "names %d nodes", len(s.line.CmdArgs))
	}
	return s.line.CmdArgs[i].Key
}

func (s *story) id(i int) string {
	id, ok := s.names[s.name(i)]
	if !ok {
		s.line.Fatalf(s.t, "there is no node %s", s.name(i))
	}
	return id
}

// at returns the node that is asked: the first one that the line names.
func (s *story) at() *simNode {
	n := s.node(s.id(0))
	if n == nil {
		s.line.Fatalf(s.t, "%s does not run", s.name(0))
	}
	return n
}

// context is what callers wait for at most.
func (s *story) context() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	s.t.Cleanup(cancel)
	return ctx
}

// append appends the messages of the input's lines: an id, and a text.
func (s *story) append() string {
	op := &turn.Append{Key: storyKey(s.name(1))}
	for line := range strings.Lines(s.line.Input) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		op.Messages = append(op.Messages, turn.NewMessage{ID: id, Data: []byte(text)})
	}
	return s.tell(s.at().Apply(s.context(), op))
}

func (s *story) read() string {
	var c turn.Consistency
	if s.line.HasArg("stale") {
		c.Level = turn.Stale
	}
	return s.tell(s.at().Query(s.context(), &turn.Read{Key: storyKey(s.name(1))}, c))
}

// hang has a node's log accept no write, until it is released.
func (s *story) hang() string {
	if s.opened == nil {
		s.opened = map[string]func(){}
	}
	s.opened[s.name(0)] = s.at().slow.shut()
	return "the disk of " + s.name(0) + " hangs"
}

// startEmpty starts a node as it was configured at first, with an empty directory, and waits for its end.
func (s *story) startEmpty() string {
	id := s.id(0)
	if err := os.RemoveAll(filepath.Join(s.dir, id)); err != nil {
		s.t.Fatal(err)
	}
	s.disks[id] = simdisk.New()
	s.start(id)
	n := s.take(id)
	select {
	case <-n.done:
		return "refused: " + s.anonymous(n.err.Error())
	case <-time.After(time.Minute):
		n.stop()
		<-n.done
		return "runs"
	}
}

// Which of the others is the first to reject a node is chance, as incarnations are.
var chance = regexp.MustCompile(`node [ab] rejected|[0-9a-f]{32}`)

// anonymous has names in place of ids, and dots in place of what differs from time to time.
func (s *story) anonymous(text string) string {
	for name, id := range s.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return chance.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, "rejected") {
			return "a node rejected"
		}
		return "…"
	})
}

// tell says what a caller was told. Texts of errors differ with the moment, kinds and outcomes do not.
func (s *story) tell(r turn.Result, err error) string {
	if err != nil {
		e := turn.AsError(err)
		return fmt.Sprintf("%s: %s", e.Kind, e.Outcome())
	}
	lines := []string{"ok"}
	if r.First > 0 {
		lines[0] = fmt.Sprintf("ok, messages %d to %d", r.First, r.Last)
	}
	if r.Duplicate {
		lines[0] += ", duplicate"
	}
	for _, m := range r.Messages {
		lines = append(lines, fmt.Sprintf("%d %s %s", m.Seq, m.ID, m.Data))
	}
	return strings.Join(lines, "\n")
}
