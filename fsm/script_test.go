package fsm

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/turnlog/turnlog/turn"
)

// The files in testdata/script are stories of a state machine: an operation or a query with its
// arguments, "id text" lines for messages, and behind ---- what comes of it. They are written again by
//
//	go test ./fsm -run TestScripts -args -rewrite
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		s := &script{rig: newRig(t)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.test, s.line = t, t, d
			f := scriptCommands[d.Cmd]
			if f == nil {
				d.Fatalf(t, "there is no command %s", d.Cmd)
			}
			return f(s) + "\n"
		})
	})
}

// script is a story. Its clock stands still unless a line moves it.
type script struct {
	*rig
	test *testing.T
	line *datadriven.TestData
	now  time.Duration // cluster time since the story began
}

// began is the cluster time at which stories begin, in milliseconds.
const began = 1_800_000_000_000

var scriptCommands = map[string]func(*script) string{
	"clock": func(s *script) string {
		s.now += s.duration(0)
		return "the clock is at " + s.now.String()
	},
	"append": func(s *script) string {
		return s.do(&turn.Append{Key: s.key(0), Messages: s.messages(), Expect: s.expect(), TTL: s.ms("ttl"),
			Side: s.side(), OnlyExisting: s.line.HasArg("existing")})
	},
	"replace": func(s *script) string {
		return s.do(&turn.Replace{Key: s.key(0), From: uint64(s.number("from")), Messages: s.messages(),
			Expect: s.expect()})
	},
	"pop": func(s *script) string {
		return s.do(&turn.Pop{Key: s.key(0), From: s.side(), Count: uint64(max(1, s.number("count"))),
			Expect: s.expect()})
	},
	"keep-last": func(s *script) string {
		return s.do(&turn.Trim{Key: s.key(0), N: uint64(s.number("n")), Expect: s.expect()})
	},
	"expire": func(s *script) string {
		return s.do(&turn.Expire{Key: s.key(0), HasTTL: s.line.HasArg("ttl"), TTL: s.ms("ttl"),
			Slide: s.line.HasArg("slide")})
	},
	"level": func(s *script) string {
		s.raise(turn.ClusterLevel(s.number("is")))
		return "raised"
	},
	"retain": func(s *script) string {
		return s.do(&turn.Retain{Key: s.key(0), Keep: turn.Retention{Messages: uint64(s.number("messages")),
			Turns: uint64(s.number("turns"))}, Expect: s.expect()})
	},
	"clear":  func(s *script) string { return s.do(&turn.Clear{Key: s.key(0), Expect: s.expect()}) },
	"delete": func(s *script) string { return s.do(&turn.Delete{Keys: []turn.Key{s.key(0)}, Expect: s.expect()}) },
	"fork": func(s *script) string {
		return s.do(&turn.Fork{Key: s.key(0), To: s.key(1), At: uint64(s.number("at"))})
	},
	"rename": func(s *script) string {
		return s.do(&turn.Rename{Key: s.key(0), To: s.key(1), Replace: s.line.HasArg("replace"), Expect: s.expect()})
	},
	"metadata": func(s *script) string {
		set := map[string]string{}
		for _, a := range s.line.CmdArgs[1:] {
			set[a.Key] = strings.Join(a.Vals, ",")
		}
		return s.do(&turn.SetMetadata{Key: s.key(0), Set: set})
	},
	"read": func(s *script) string {
		q := &turn.Read{Key: s.key(0), Limit: int(s.number("last"))}
		if s.line.HasArg("after") {
			q.From, q.Seq = turn.FromAfter, uint64(s.number("after"))
		}
		return s.ask(q)
	},
	"info":     func(s *script) string { return s.ask(&turn.Info{Key: s.key(0)}) },
	"sessions": func(s *script) string { return s.ask(&turn.Sessions{Namespace: turn.DefaultNamespace, Limit: 100}) },
	"flush": func(s *script) string {
		s.flush()
		return "flushed"
	},
	"restart": func(s *script) string {
		s.restart()
		return "started with entry " + fmt.Sprint(s.index)
	},
	// moved goes on with a second machine, which has the state from a dump of the first.
	"moved": func(s *script) string {
		log := s.log
		first := s.fork(s.test)
		second := first.fork(s.test)
		s.rig = first.fork(s.test)
		s.log = log
		if first.hash() != second.hash() {
			return "another state"
		}
		return "the same state"
	},
}

func (s *script) do(op turn.Op) string {
	o := s.apply(began+s.now.Milliseconds(), op)[0]
	if o.Err != nil {
		return show(turn.Result{}, o.Err)
	}
	return show(o.Result, nil)
}

func (s *script) ask(q turn.Query) string {
	r, err := s.m.Query(q)
	return show(r, err)
}

func (s *script) key(i int) turn.Key {
	var names []string
	for _, a := range s.line.CmdArgs {
		if len(a.Vals) == 0 {
			names = append(names, a.Key)
		}
	}
	if i >= len(names) {
		s.line.Fatalf(s.t, "names %d keys", len(names))
	}
	return turn.Key{Namespace: turn.DefaultNamespace, Name: names[i]}
}

func (s *script) number(name string) (n int64) {
	s.line.MaybeScanArgs(s.t, name, &n)
	return n
}

func (s *script) expect() *uint64 {
	if !s.line.HasArg("expect") {
		return nil
	}
	n := uint64(s.number("expect"))
	return &n
}

func (s *script) side() turn.Side {
	switch {
	case s.line.HasArg("head"):
		return turn.Head
	case s.line.HasArg("newest"):
		return turn.Newest
	}
	return turn.Tail
}

func (s *script) duration(i int) time.Duration {
	d, err := time.ParseDuration(s.line.CmdArgs[i].Key)
	if err != nil {
		s.line.Fatalf(s.t, "%v", err)
	}
	return d
}

func (s *script) ms(name string) int64 {
	var text string
	if !s.line.MaybeScanArgs(s.t, name, &text) {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.line.Fatalf(s.t, "%v", err)
	}
	return d.Milliseconds()
}

// messages are the input's lines: an id, or - for none, and a text.
func (s *script) messages() (ms []turn.NewMessage) {
	for line := range strings.Lines(s.line.Input) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		ms = append(ms, turn.NewMessage{ID: strings.Trim(id, "-"), Data: []byte(text)})
	}
	return ms
}

// show writes what is set in a result, in an order that never changes.
func show(r turn.Result, err error) string {
	if failed := (*turn.Error)(nil); errors.As(err, &failed) {
		text := fmt.Sprintf("%s: %s", failed.Kind, failed.Message)
		if failed.Kind == turn.Conflict {
			text += fmt.Sprintf(" (revision %d)", failed.Revision)
		}
		return text
	}
	var b strings.Builder
	for _, f := range []struct {
		name  string
		value uint64
	}{{"first", r.First}, {"last", r.Last}, {"count", r.Count}, {"removed", r.Removed}, {"revision", r.Revision}} {
		if f.value > 0 {
			fmt.Fprintf(&b, "%s %d, ", f.name, f.value)
		}
	}
	if r.Duplicate {
		b.WriteString("duplicate, ")
	}
	var lines []string
	if b.Len() > 0 {
		lines = append(lines, strings.TrimSuffix(b.String(), ", "))
	}
	if r.Session != nil {
		lines = append(lines, showSession(*r.Session))
	}
	for _, one := range r.Sessions {
		lines = append(lines, showSession(one))
	}
	for _, m := range r.Messages {
		lines = append(lines, fmt.Sprintf("%d %s %s", m.Seq, cmp.Or(m.ID, "-"), m.Data))
	}
	return cmp.Or(strings.Join(lines, "\n"), "nothing")
}

func showSession(s turn.Session) string {
	text := fmt.Sprintf("%s: %d messages, %d to %d, revision %d", s.Key.Name, s.Count, s.First, s.Last, s.Revision)
	if s.ExpiresAt > 0 {
		text += fmt.Sprintf(", until %v", time.Duration(s.ExpiresAt-began)*time.Millisecond)
	}
	if k := s.Retention; k != (turn.Retention{}) {
		text += fmt.Sprintf(", keeps %d messages %d turns", k.Messages, k.Turns)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Metadata)) {
		text += fmt.Sprintf(", %s=%s", name, s.Metadata[name])
	}
	return text
}
