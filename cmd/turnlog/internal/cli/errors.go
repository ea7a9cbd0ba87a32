package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// Exit statuses; `turnlog --help` explains them.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitUnknown   = 3
	ExitCondition = 4
	ExitNotFound  = 5
)

func exitCode(err error) int {
	if IsUsage(err) {
		return ExitUsage
	}
	if errors.As(err, new(incomplete)) {
		return ExitUnknown
	}
	e := (*turn.Error)(nil)
	if !errors.As(err, &e) {
		return ExitFailed
	}
	switch e.Kind {
	case turn.Unknown:
		return ExitUnknown
	case turn.Conflict, turn.IDReused, turn.Exists:
		return ExitCondition
	case turn.NotFound:
		return ExitNotFound
	case turn.Invalid, turn.TooLarge:
		return ExitUsage
	}
	return ExitFailed
}

// report writes to stderr what happened, whether a write took place, and what
// to do.
func (a *App) report(err error) {
	if errors.Is(err, ErrTold) {
		return
	}
	if a.JSON {
		a.reportJSON(err)
		return
	}
	fmt.Fprintf(a.Stderr, "turnlog: %v\n", err)
	hint := hint(err)
	if p := (partial{}); errors.As(err, &p) {
		hint = strings.TrimSpace(p.done + " " + strings.TrimPrefix(hint, unchanged))
	} else if strings.Contains(err.Error(), "nothing was changed") {
		hint = strings.TrimSpace(strings.TrimPrefix(hint, unchanged))
	}
	if hint != "" {
		fmt.Fprintf(a.Stderr, "%s\n", hint)
	}
}

func hint(err error) string {
	if u := (usageError{}); errors.As(err, &u) && u.command != "" {
		return fmt.Sprintf("See `%s --help`.", u.command)
	}
	if a := (advised{}); errors.As(err, &a) {
		return a.advice
	}
	e := (*turn.Error)(nil)
	if !errors.As(err, &e) || errors.As(err, new(incomplete)) {
		return ""
	}
	switch {
	case e.Kind == turn.Unknown:
		return "The change may or may not have taken place. Look (`turnlog read`, `turnlog cluster status`) before " +
			"you repeat it; an append may be repeated with the same --id."
	case e.Kind == turn.Unavailable && errors.Is(err, context.Canceled):
		return unchanged
	case e.Kind == turn.Unavailable && answered(err):
		return unchanged + " `turnlog cluster status` says what is wrong."
	case e.Kind == turn.Conflict:
		return fmt.Sprintf(unchanged+" The session is at revision %d: read it again, then decide.", e.Revision)
	}
	return unchanged + " " + advice[e.Kind]
}

const unchanged = "Nothing was changed."

// advice says what to do after an error of a kind after which nothing was changed.
var advice = map[turn.Kind]string{
	turn.Internal: "This is a fault in turnlog: the node's log may say more, and `turnlog debug zip` collects what a " +
		"report needs.",
	turn.Invalid:  "Correct what the message names, and run the command again.",
	turn.TooLarge: "Send less at once, or ask for less; `turnlog serve --help` has the limits.",
	turn.NotFound: "Check the name: `turnlog sessions` lists sessions, `turnlog cluster status` nodes.",
	turn.Exists: "If an earlier attempt of yours made it, all is done; otherwise look at what is there, or choose " +
		"another name.",
	turn.IDReused: "Give a new message an id of its own; to repeat one, send what was sent the first time.",
	turn.WrongType: "Choose another key, or use the commands for what this one holds: `turnlog hash` for a hash, a " +
		"Redis client for other types.",
	turn.Overloaded: "Try again later: the node has too much to do, and takes no more for now.",
	turn.Unavailable: "Is a cluster running there? `turnlog dev` starts one; --addr or TURNLOG_ADDR names another. " +
		"Give several of its addresses, separated by commas: another node answers when one is down. If it uses TLS: " +
		"--tls-ca.",
	turn.ReadOnly: "Delete or trim what is not needed, which works meanwhile, or free disk space on the nodes; they " +
		"heal by themselves.",
	turn.Newer: "Use the version of turnlog that wrote it, or a newer one; `turnlog version` says which one this is.",
	turn.Corrupt: "Use another backup, if it is one. A node repairs its state from the others: `turnlog cluster " +
		"health` says which nodes are damaged.",
	turn.Unauthorized: "--user names a user; its password comes from TURNLOG_PASSWORD or --password-file.",
	turn.Forbidden:    "`turnlog user list` shows on a node what users may do.",
}

// answered reports whether err is all that a node said: an error of the network has its cause beside it.
func answered(err error) bool {
	switch u := err.(type) {
	case *turn.Error:
		return true
	case interface{ Unwrap() error }:
		return answered(u.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(u.Unwrap(), func(err error) bool { return !answered(err) })
	}
	return false
}

func (a *App) reportJSON(err error) {
	type errorJSON struct {
		Code     string  `json:"code"`
		Message  string  `json:"message"`
		Outcome  string  `json:"outcome"`
		Retry    bool    `json:"retry"`
		Revision *uint64 `json:"revision,omitempty"`
		Done     string  `json:"done,omitempty"`
	}
	out := errorJSON{Code: "USAGE", Message: err.Error(), Outcome: outcome(err)}
	if e := (*turn.Error)(nil); errors.As(err, &e) {
		out = errorJSON{Code: e.Kind.String(), Message: err.Error(), Outcome: outcome(err), Retry: e.Retry()}
		if e.Kind == turn.Conflict {
			out.Revision = &e.Revision
		}
	} else if exitCode(err) != ExitUsage {
		out.Code = "FAILED"
	}
	if p := (partial{}); errors.As(err, &p) {
		out.Done = p.done
	}
	json.NewEncoder(a.Stderr).Encode(map[string]errorJSON{"error": out})
}
