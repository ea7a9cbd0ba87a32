package session

import (
	"context"
	"encoding/base64"
	"fmt"
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
}

func toJSON(s turn.Session) sessionJSON {
	out := sessionJSON{
		Count: s.Count, Bytes: s.Bytes, First: s.First, Last: s.Last, Revision: s.Revision,
		Created: s.Created, Updated: s.Updated, ExpiresAt: s.ExpiresAt, SlideMS: s.Slide, Metadata: s.Metadata,
	}
	if utf8.ValidString(s.Key.Name) {
		out.Key = &s.Key.Name
	} else {
		out.KeyBase64 = base64.StdEncoding.EncodeToString([]byte(s.Key.Name))
	}
	return out
}

func sessionsCommand(a *cli.App) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "sessions [PREFIX]",
		Short: "List sessions in key order",
		Example: `  turnlog sessions
  turnlog sessions user/42/ --limit 100
  turnlog sessions --json | jq -r .key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				return listSessions(a, ctx, c, prefix, limit)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "at most N sessions (0: all)")
	return cmd
}

// listSessions writes a table for each screenful, so that a long list begins at once.
func listSessions(a *cli.App, ctx context.Context, c *client.Client, prefix string, limit int) error {
	const screenful = 200
	header := []string{"KEY", "MESSAGES", "BYTES", "LAST SEQ", "REVISION", "UPDATED"}
	rows := [][]string{header}
	n := 0
	for s, err := range c.Sessions(ctx, prefix) {
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
		{"messages", fmt.Sprintf("%d (%d bytes)", s.Count, s.Bytes)},
		{"seqs", fmt.Sprintf("%d to %d", s.First, s.Last)},
		{"revision", fmt.Sprint(s.Revision)},
		{"created", cli.When(s.Created)},
		{"updated", cli.When(s.Updated)},
		{"expires", expires},
	}
	for _, k := range sortedKeys(s.Metadata) {
		rows = append(rows, []string{"meta " + cli.Printable([]byte(k)), cli.Printable([]byte(s.Metadata[k]))})
	}
	return a.Table(rows)
}
