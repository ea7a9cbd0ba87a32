package command

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// onlyLimits is an engine of which handlers can learn nothing but its limits.
type onlyLimits struct{ Engine }

func (onlyLimits) Limits() turn.Limits { return turn.DefaultLimits() }

func (onlyLimits) Level() turn.ClusterLevel { return turn.NewestLevel }

// silent is a client that a handler may ask what is needed for an action that waits.
type silent struct{ Client }

func (silent) Detach()                                            {}
func (silent) Library() string                                    { return "" }
func (silent) Gone() context.Context                              { return context.Background() }
func (silent) Permission(*Command, [][]byte) (still func() Error) { return func() Error { return "" } }

// handled returns what the handler of a request makes of it.
func handled(t *testing.T, line string, queued bool) Action {
	t.Helper()
	table := NewTable()
	cmd, refusal := table.Find(split(line))
	if refusal != "" {
		t.Fatalf("%s: %s", line, refusal)
	}
	b := NewBackend(table, Config{Engine: onlyLimits{}, Now: time.Now})
	return cmd.Handle(&Request{Command: cmd, Namespace: "0", Queued: queued, Backend: b, Client: silent{}}, split(line))
}

// Handlers ask nothing: they say what the connection is to do, and in a transaction nothing that
// waits or depends on answers.
func TestHandlersMakeActions(t *testing.T) {
	for _, tt := range []struct{ line, action, queued string }{
		{"TIME", "command.Reply", "command.Reply"},
		{"EXPIRE k soon", "command.Error", "command.Error"},
		{"RPUSH k a", "*command.Write", "*command.Write"},
		{"LRANGE k 0 -1", "*command.Read", "*command.Read"},
		{"DBSIZE", "*command.Read", "*command.Read"},
		{"KEYS *", "*command.Work", "*command.Work"},
		{"BLPOP k 0", "*command.Wait", "*command.Write"},
		{"BLMOVE k to LEFT RIGHT 0", "*command.Wait", "*command.Write"},
		{"XREAD STREAMS s 0", "*command.Read", "*command.Read"},
		{"XREAD BLOCK 0 STREAMS s 0", "*command.Wait", "*command.Read"},
		{"TURN.READ k", "*command.Read", "*command.Read"},
		{"TURN.READ k CONSISTENCY STALE", "*command.Work", "*command.Read"},
		{"TURN.TAIL k BLOCK 10", "*command.Wait", "*command.Wait"},
		{"TURN.TAIL k PUSH", "*command.Follow", "*command.Follow"},
		{"PUBLISH channel x", "*command.Publish", "*command.Publish"},
		{"PUBLISH " + SwitchMaster + " x", "command.Error", "command.Error"},
	} {
		if got := fmt.Sprintf("%T", handled(t, tt.line, false)); got != tt.action {
			t.Errorf("%s makes a %s, want %s", tt.line, got, tt.action)
		}
		if got := fmt.Sprintf("%T", handled(t, tt.line, true)); got != tt.queued {
			t.Errorf("%s in a transaction makes a %s, want %s", tt.line, got, tt.queued)
		}
	}
}

// An action says which keys it concerns, so that the connection can keep them in order.
func TestActionsNameTheirKeys(t *testing.T) {
	for line, want := range map[string]string{
		"RPUSH k a": "[{0 k}]", "DEL a b": "[{0 a} {0 b}]", "LMOVE a b LEFT LEFT": "[{0 a} {0 b}]",
		"MSET a 1 b 2": "[{0 a} {0 b}]",
		"GET k":        "[{0 k}]", "MGET a b": "[{0 a} {0 b}]", "DBSIZE": "[]", "TURN.FORK a b": "[{0 a} {0 b}]",
		"RENAME a b": "[{0 a} {0 b}]", "RENAMENX a b": "[{0 a} {0 b}]", "TURN.RENAME a b": "[{0 a} {0 b}]",
	} {
		var keys []turn.Key
		switch a := handled(t, line, false).(type) {
		case *Write:
			keys = a.Keys
		case *Read:
			keys = a.Keys
		default:
			t.Errorf("%s makes a %T", line, a)
		}
		if got := fmt.Sprint(keys); got != want {
			t.Errorf("%s concerns %s, want %s", line, got, want)
		}
	}
}
