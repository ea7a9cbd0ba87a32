package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

type readFlags struct {
	last, limit         int
	after, before       uint64
	maxBytes, maxTokens int64
	since, until        string
	consistency         string
	raw, whole          bool
}

func readCommand(a *cli.App) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:   "read KEY",
		Short: "Show messages of a session",
		Long: `Read shows messages in the order in which they were committed, by default the 20
newest. A session that does not exist has none.`,
		Example: `  turnlog read alice --last 5
  turnlog read alice --after 17 --limit 100
  turnlog read alice --last 100 --max-tokens 8000   # never splits a tool call from its result
  turnlog read alice --last 20 --whole              # likewise
  turnlog read alice --since 2h --until 30m         # by time: so long ago, or a time such as 2026-11-24T09:00:00Z
  turnlog read alice --raw | jq .content            # payloads only, one a line`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(cmd)
			if err != nil {
				return err
			}
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				if s, err = withConsistency(s, f.consistency); err != nil {
					return err
				}
				h, err := s.Read(ctx, q)
				if err != nil {
					return err
				}
				return writeHistory(a, h, f.raw)
			})
		},
	}
	cmd.Flags().IntVar(&f.last, "last", 20, "the N newest messages (0: all)")
	cmd.Flags().Uint64Var(&f.after, "after", 0, "messages after this seq")
	cmd.Flags().Uint64Var(&f.before, "before", 0, "messages before this seq")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "with --after and --before: at most N messages")
	cmd.Flags().Int64Var(&f.maxBytes, "max-bytes", 0, "at most this many payload bytes")
	cmd.Flags().Int64Var(&f.maxTokens, "max-tokens", 0, "at most this many tokens of four bytes each")
	cmd.Flags().BoolVar(&f.whole, "whole", false, "never split a tool call from its result")
	cmd.Flags().StringVar(&f.since, "since", "", "messages of this time (RFC 3339) or so long ago, and later")
	cmd.Flags().StringVar(&f.until, "until", "", "messages before this time, or longer ago")
	cmd.Flags().StringVar(&f.consistency, "consistency", "linearizable",
		"linearizable, stale, or the greatest age of the answer, such as 500ms")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "write the payloads only, each followed by a newline")
	cmd.MarkFlagsMutuallyExclusive("last", "after", "before")
	return cmd
}

func (f *readFlags) query(cmd *cobra.Command) (turn.Read, error) {
	if f.last < 0 {
		return turn.Read{}, cli.Usagef("--last %d: must not be negative", f.last)
	}
	q := turn.Read{From: turn.FromLast, Limit: f.last, MaxBytes: f.maxBytes, MaxTokens: f.maxTokens, Whole: f.whole}
	var err error
	if q.Since, err = moment("--since", f.since, time.Now()); err != nil {
		return q, err
	}
	if q.Until, err = moment("--until", f.until, time.Now()); err != nil {
		return q, err
	}
	switch {
	case cmd.Flags().Changed("after"):
		q.From, q.Seq, q.Limit = turn.FromAfter, f.after, f.limit
	case cmd.Flags().Changed("before"):
		q.From, q.Seq, q.Limit = turn.FromBefore, f.before, f.limit
	case f.limit != 0:
		return q, cli.Usagef("--limit needs --after or --before; for the newest messages use --last")
	}
	return q, nil
}

// moment reads a time, or how long ago it was, as Unix milliseconds; 0 if there is no text.
func moment(flag, text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		ago, err := time.ParseDuration(text)
		if err != nil || ago < 0 {
			return 0, cli.Usagef("%s %q: must be a time such as 2026-11-24T09:00:00Z, or how long ago, such as 2h",
				flag, text)
		}
		t = now.Add(-ago)
	}
	return max(t.UnixMilli(), 1), nil
}

func withConsistency(s client.Session, text string) (client.Session, error) {
	switch strings.ToLower(text) {
	case "linearizable", "":
		return s, nil
	case "stale":
		return s.Stale(), nil
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return s, cli.Usagef("--consistency %q: must be linearizable, stale, or an age such as 500ms", text)
	}
	return s.Bounded(age), nil
}

func writeHistory(a *cli.App, h client.History, raw bool) error {
	if raw {
		for _, m := range h.Messages {
			if _, err := fmt.Fprintf(a.Stdout, "%s\n", m.Data); err != nil {
				return err
			}
		}
		return nil
	}
	if a.JSON {
		return a.WriteJSON(historyJSON(h))
	}
	if err := a.WriteMessages(a.Stdout, h.Messages); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stderr, "%d of %s, revision %d\n", len(h.Messages), cli.Plural(h.Count, "message"),
		h.Revision)
	return err
}

func historyJSON(h client.History) any {
	messages := make([]json.RawMessage, len(h.Messages))
	for i := range h.Messages {
		messages[i] = jsonl.AppendMessage(nil, &h.Messages[i])
	}
	return struct {
		Messages []json.RawMessage `json:"messages"`
		First    uint64            `json:"first_seq"`
		Last     uint64            `json:"last_seq"`
		Count    uint64            `json:"count"`
		Revision uint64            `json:"revision"`
		More     bool              `json:"more"`
	}{messages, h.First, h.Last, h.Count, h.Revision, h.More}
}
