// Package target opens the memory stores that `turnlog verify` can be pointed at,
// by URL:
//
//	memory:                                   a store in this process
//	turnlog://host:port[,host:port…][?namespace=N]
//	redis://[user:password@]host:port[/db]    a list for each session, as chat-history libraries keep it
//	redis://…?layout=rmw                      a string for each session, read and written whole
//	postgres://user:password@host:port/db     a table; a transaction for each append
//	http://host:port[?namespace=N]            turnlog's HTTP API
//	exec:COMMAND                              a program that speaks JSON lines
//	turnlog:[?nodes=N]                        a cluster of its own, of three nodes
//	turnlog:?through=n2                       … all handles through that node
//	turnlog:?kill-leader=3s                   … whose leader is killed repeatedly
package target

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strings"

	"github.com/turnlog/turnlog/contract"
)

// Options say how a target is reached beyond its URL.
type Options struct {
	// Binary is the turnlog program, of which turnlog: starts its nodes.
	Binary string
	// Copy, if set, returns the command of a process that calls
	// contract.WriterMain with Open of that URL.
	Copy func(ctx context.Context, url string) *exec.Cmd
	// RestartCommand is a shell command that ends the store, as harshly as it is
	// meant to survive, starts it again, and returns.
	RestartCommand string
	// Backend is the address of the server behind an exec: target. It is reached
	// through a breakable proxy, whose address stands for {backend} in the command.
	Backend string
}

// URLError says that a URL or the Options make no sense.
type URLError struct{ text string }

func (e *URLError) Error() string { return e.text }

func urlErrorf(form string, args ...any) error { return &URLError{fmt.Sprintf(form, args...)} }

// Target is an open target. Close ends what Open started.
type Target struct {
	contract.Target
	// Note, if set, says what else happened to the store so far.
	Note  func() string
	close func() error
}

// Close ends what Open started. Its error is that of something which went wrong
// beside the cases.
func (t *Target) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

// take removes parameters from u and returns them; one that is not expected is an
// error.
func take(u *url.URL, names ...string) (map[string]string, error) {
	out := map[string]string{}
	q := u.Query()
	for _, n := range names {
		out[n] = q.Get(n)
		q.Del(n)
	}
	for n := range q {
		return nil, urlErrorf("there is no parameter %q; there are %s", n, strings.Join(names, ", "))
	}
	u.RawQuery = ""
	return out, nil
}

// shell returns a restart by a command.
func shell(command string) func(context.Context) error {
	return func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(string(out)))
		}
		return nil
	}
}
