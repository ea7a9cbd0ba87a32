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
		hint = strings.TrimSpace(p.done + " " + strings.TrimPrefix(hint, "Nothing was changed."))
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
	switch e.Kind {
	case turn.Unknown:
		return "The change may or may not have taken place. Look (`turnlog read`, `turnlog cluster status`) before " +
			"you repeat it; an append may be repeated with the same --id."
	case turn.Conflict:
		return fmt.Sprintf("Nothing was changed. The session is at revision %d: read it again, then decide.",
			e.Revision)
	case turn.Unavailable:
		if errors.Is(err, context.Canceled) {
			return ""
		}
		if answered(err) {
			return "Nothing was changed. `turnlog cluster status` says what is wrong."
		}
		return "Nothing was changed. Is a cluster running there? `turnlog dev` starts one; --addr or TURNLOG_ADDR " +
			"names another. Give several of its addresses, separated by commas: another node answers when one is " +
			"down. If it uses TLS: --tls-ca."
	case turn.Unauthorized:
		return "Nothing was changed. --user names a user; its password comes from TURNLOG_PASSWORD or --password-file."
	case turn.Forbidden:
		return "Nothing was changed. `turnlog user list` shows on a node what users may do."
	case turn.ReadOnly:
		return "Nothing was changed. Delete or trim what is not needed, which works meanwhile, or free disk space on " +
			"the nodes; they heal by themselves."
	case turn.Overloaded:
		return "Nothing was changed. Try again later."
	}
	return ""
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
