package session

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// sessionJSON is a session as programs see it.
type sessionJSON struct {
	Key       *string           `json:"key,omitempty"`
	KeyBase64 string            `json:"key_base64,omitempty"`
	Count     uint64            `json:"count"`
	Bytes     uint64            `json:"bytes"`
	First     uint64            `json:"first_seq"`
	Last      uint64            `json:"last_seq"`
	Revision  uint64            `json:"revision"`
	Created   int64             `json:"created"`
	Updated   int64             `json:"updated"`
	ExpiresAt int64             `json:"expires_at,omitempty"`
	SlideMS   int64             `json:"slide_ms,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`

	RetainMessages uint64 `json:"retain_messages,omitempty"`
	RetainTurns    uint64 `json:"retain_turns,omitempty"`
}

func toJSON(s turn.Session) sessionJSON {
	out := sessionJSON{
		Count: s.Count, Bytes: s.Bytes, First: s.First, Last: s.Last, Revision: s.Revision,
		Created: s.Created, Updated: s.Updated, ExpiresAt: s.ExpiresAt, SlideMS: s.Slide, Metadata: s.Metadata,
		RetainMessages: s.Retention.Messages, RetainTurns: s.Retention.Turns,
	}
	if utf8.ValidString(s.Key.Name) {
		out.Key = &s.Key.Name
	} else {
		out.KeyBase64 = base64.StdEncoding.EncodeToString([]byte(s.Key.Name))
	}
	return out
}

func sessionsCommand(a *cli.App) *cobra.Command {
	limit, labels := 0, []string(nil)
	cmd := &cobra.Command{
		Use:   "sessions [PREFIX]",
		Short: "List sessions in key order, or by labels, the one that changed last first",
		Example: `  turnlog sessions
  turnlog sessions user/42/ --limit 100
  turnlog sessions --label user=u1 --limit 20
  turnlog sessions --json | jq -r .key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			by, err := labelsOf(labels)
			if err != nil {
				return err
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				if len(by) == 0 {
					return listSessions(a, c.Sessions(ctx, prefix), limit)
				}
				return listSessions(a, labelled(ctx, c, prefix, by), limit)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "at most N sessions (0: all)")
	cmd.Flags().StringArrayVar(&labels, "label", nil,
		"only sessions whose metadata has label.NAME with that value: NAME=VALUE; several must all hold")
	return cmd
}

// labelsOf reads labels from the command line.
func labelsOf(words []string) (labels []turn.Label, err error) {
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, cli.Usagef("--label must be NAME=VALUE, is %q", w)
		}
		labels = append(labels, turn.Label{Name: name, Value: value})
	}
	return labels, nil
}

// labelled yields the sessions that carry labels and whose keys begin with prefix.
func labelled(ctx context.Context, c *client.Client, prefix string, by []turn.Label) iter.Seq2[turn.Session, error] {
	return func(yield func(turn.Session, error) bool) {
		for cursor, more := "", true; more; more = cursor != "" {
			var page []turn.Session
			var err error
			if page, cursor, err = c.LabelledPage(ctx, prefix, cursor, 1000, by...); err != nil {
				yield(turn.Session{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// listSessions writes a table for each screenful, so that a long list begins at once.
func listSessions(a *cli.App, sessions iter.Seq2[turn.Session, error], limit int) error {
	const screenful = 200
	header := []string{"KEY", "MESSAGES", "BYTES", "LAST SEQ", "REVISION", "UPDATED"}
	rows := [][]string{header}
	n := 0
	for s, err := range sessions {
		if err != nil {
			return err
		}
		if a.JSON {
			if err := a.WriteJSON(toJSON(s)); err != nil {
				return err
			}
		} else {
			rows = append(rows, []string{cli.Printable([]byte(s.Key.Name)), fmt.Sprint(s.Count), fmt.Sprint(s.Bytes),
				fmt.Sprint(s.Last), fmt.Sprint(s.Revision), cli.When(s.Updated)})
		}
		if n++; n == limit {
			break
		}
		if len(rows) > screenful {
			if err := a.Table(rows); err != nil {
				return err
			}
			rows = rows[:1]
		}
	}
	if a.JSON || n > 0 && len(rows) == 1 {
		return nil
	}
	return a.Table(rows)
}

func infoCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "info KEY",
		Short: "Describe a session",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				info, err := s.Info(ctx)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.WriteJSON(toJSON(info))
				}
				return writeInfo(a, info)
			})
		},
	}
}

func writeInfo(a *cli.App, s turn.Session) error {
	expires := "never"
	if s.ExpiresAt != 0 {
		expires = cli.When(s.ExpiresAt)
	}
	if s.Slide != 0 {
		expires += fmt.Sprintf(", renewed by each append by %d ms", s.Slide)
	}
	rows := [][]string{
		{"key", cli.Printable([]byte(s.Key.Name))},
		{"namespace", s.Key.Namespace},
		{"messages", fmt.Sprintf("%d (%s)", s.Count, cli.Plural(s.Bytes, "byte"))},
		{"seqs", fmt.Sprintf("%d to %d", s.First, s.Last)},
		{"revision", fmt.Sprint(s.Revision)},
		{"created", cli.When(s.Created)},
		{"updated", cli.When(s.Updated)},
		{"expires", expires},
	}
	if k := s.Retention; k != (turn.Retention{}) {
		rows = append(rows, []string{"keeps", kept(k)})
	}
	for _, k := range sortedKeys(s.Metadata) {
		rows = append(rows, []string{"meta " + cli.Printable([]byte(k)), cli.Printable([]byte(s.Metadata[k]))})
	}
	return a.Table(rows)
}
