package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// Whether a cluster runs is asked only if no node answered.
func TestHintsOfUnavailable(t *testing.T) {
	refused := errors.New("dial tcp 127.0.0.1:1: connection refused")
	unreachable := fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "127.0.0.1:1 cannot be reached"), refused)
	answered := turn.Errorf(turn.Unavailable, "no leader")
	for name, c := range map[string]struct {
		err  error
		asks bool
	}{
		"no server":               {unreachable, true},
		"no server, in a command": {fmt.Errorf("stopped after seq 3: %w", unreachable), true},
		"connection lost": {fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "no answer"), io.EOF),
			true},
		"a node's answer":               {answered, false},
		"a node's answer, in a command": {fmt.Errorf("stopped after seq 3: %w", answered), false},
		"a node rejects the connection": {fmt.Errorf("127.0.0.1:1 rejects the connection: %w", answered), false},
	} {
		hint := hint(c.err)
		if asks := strings.Contains(hint, "Is a cluster running there?"); asks != c.asks ||
			!strings.HasPrefix(hint, "Nothing was changed. ") {
			t.Errorf("%s: %q", name, hint)
		}
	}
}
