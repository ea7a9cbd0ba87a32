package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// Each code that a command can end with says whether the change took place, and then what to do, once each.
func TestEveryCodeSaysWhatToDo(t *testing.T) {
	for k := turn.Internal; k.String() != turn.Internal.String() || k == turn.Internal; k++ {
		for _, message := range []string{"why", "why; nothing was changed"} {
			a := &App{Stderr: new(strings.Builder)}
			a.report(fmt.Errorf("append: %w", turn.Errorf(k, "%s", message)))
			said := a.Stderr.(*strings.Builder).String()
			about, hint, _ := strings.Cut(said, "\n")
			if about != "turnlog: append: "+k.String()+": "+message {
				t.Errorf("%v: %q", k, about)
			}
			if k == turn.Unknown {
				if !strings.HasPrefix(hint, "The change may or may not have taken place. ") {
					t.Errorf("%v: %q", k, hint)
				}
				continue
			}
			if strings.Count(strings.ToLower(said), "nothing was changed") != 1 {
				t.Errorf("%v says not once that nothing was changed: %q", k, said)
			}
			if advice := strings.TrimPrefix(hint, "Nothing was changed. "); len(advice) < 20 {
				t.Errorf("%v: the advice is %q", k, advice)
			}
		}
	}
	if hint := hint(fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "it was given up"), context.Canceled)); hint !=
		"Nothing was changed." {
		t.Errorf("of an interrupted command: %q", hint)
	}
}

// A flag, a variable and a command that have another name now are named by it.
func TestFormerNames(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	err := PlainFlagError(flags.Parse([]string{"--secret-file", "f"}))
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --secret-file; it is called --password-file now") {
		t.Errorf("the flag: %v", err)
	}
	if err := PlainFlagError(flags.Parse([]string{"--nonsense"})); !strings.HasSuffix(err.Error(), "flag: --nonsense") {
		t.Errorf("a flag that never was: %v", err)
	}
	for _, old := range []string{"TURNLOG_SECRET", "TURNLOG_SECRET_FILE"} {
		now := strings.Replace(old, "SECRET", "PASSWORD", 1)
		env := map[string]string{old: "x"}
		getenv := func(name string) string { return env[name] }
		_, err := new(login).Password(getenv)
		if !IsUsage(err) || !strings.Contains(err.Error(), old+" is called "+now) {
			t.Errorf("%s: %v", old, err)
		}
		env["TURNLOG_PASSWORD"] = "y"
		if got, err := new(login).Password(getenv); got != "y" || err != nil {
			t.Errorf("%s beside TURNLOG_PASSWORD: %q, %v", old, got, err)
		}
	}
	parent := ParentCommand("user", "")
	parent.AddCommand(&cobra.Command{Use: "password NAME", SuggestFor: []string{"secret"}, Run: func(*cobra.Command,
		[]string) {
	}})
	parent.SetArgs([]string{"secret", "ann"})
	parent.SilenceErrors, parent.SilenceUsage = true, true
	if err := parent.Execute(); err == nil || !strings.Contains(err.Error(), `it is called "user password" now`) {
		t.Errorf("the command: %v", err)
	}
}

// A file without a password is not the same as no file.
func TestEmptyPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"ann", ""} {
		l := &login{User: user, passwordFile: file}
		if _, err := l.Password(func(string) string { return "" }); !IsUsage(err) ||
			!strings.Contains(err.Error(), "password file "+file+" is empty") {
			t.Errorf("user %q: %v", user, err)
		}
	}
}
