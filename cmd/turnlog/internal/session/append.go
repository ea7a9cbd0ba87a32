package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

type appendFlags struct {
	ids    []string
	role   string
	lines  bool
	ttl    time.Duration
	expect cli.ExpectFlag
	meta   []string // NAME=VALUE
	unset  []string
	exist  bool
}

func appendCommand(a *cli.App) *cobra.Command {
	var f appendFlags
	cmd := &cobra.Command{
		Use:   "append KEY [MESSAGE...]",
		Short: "Append messages to a session, all or none",
		Long: `Append adds messages at the end of a session, creating it if needed. All of
them are committed together, or none.

A MESSAGE is any text and is stored as it is; "-", or no MESSAGE at all, reads one
from standard input. Every message has an id: one that you give with --id, so that
a repetition of the command is recognised and stores nothing, or one made for it.

With --metadata and --unset, the session's metadata changes in the same operation.

If no node answers, the command retries for --timeout, with the same ids, at each of
the nodes in --addr.`,
		Example: `  turnlog append alice '{"role":"user","content":"Where is my order?"}'
  turnlog append alice --role user 'Where is my order?'        # the same, wrapped
  turnlog append alice --id q1 --role user 'hi' --expect 17    # only if it is still at revision 17
  turnlog append alice --lines < turn.jsonl                    # one message a line
  turnlog append alice 'Thanks!' --metadata status=open        # with the session's metadata, or not at all
  turnlog append alice 'Still there?' --must-exist             # only if there is such a session`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			messages, err := messagesToAppend(a, args[1:], &f)
			if err != nil {
				return err
			}
			set, err := namedValues(f.meta)
			if err != nil {
				return err
			}
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				if len(set)+len(f.unset) > 0 {
					s = s.Setting(set, f.unset...)
				}
				r, err := f.on(s).Append(ctx, messages...)
				if err != nil {
					return f.explain(err)
				}
				return writeAppended(a, r)
			})
		},
	}
	cmd.Flags().StringArrayVar(&f.ids, "id", nil, "id of the message; once for each message, or not at all")
	cmd.Flags().StringVar(&f.role, "role", "", `wrap each text as {"role":ROLE,"content":TEXT}`)
	cmd.Flags().BoolVar(&f.lines, "lines", false, "read standard input, each line a message")
	cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "delete the session after that time, such as 24h")
	cmd.Flags().StringArrayVar(&f.meta, "metadata", nil, "set metadata of the session, NAME=VALUE; may be repeated")
	cmd.Flags().StringArrayVar(&f.unset, "unset", nil, "name of metadata to remove; may be repeated")
	cmd.Flags().BoolVar(&f.exist, "must-exist", false, "fail if there is no such session, instead of creating it")
	f.expect.Register(cmd)
	return cmd
}

// on returns the session with what the flags say of appends.
func (f *appendFlags) on(s client.Session) client.Session {
	if f.ttl != 0 {
		s = s.TTL(f.ttl)
	}
	if f.exist {
		s = s.Existing()
	}
	return f.expect.On(s)
}

// explain adds to a conflict that comes from the ids what to do: reading again does not help.
func (f *appendFlags) explain(err error) error {
	e := (*turn.Error)(nil)
	if !errors.As(err, &e) || e.Kind != turn.Conflict || f.expect.Revision != nil && *f.expect.Revision != e.Revision {
		return err
	}
	return cli.Advise(err, "Nothing was changed. Append the messages one by one: those that are stored are recognised.")
}

func writeAppended(a *cli.App, r turn.Result) error {
	if a.JSON {
		return a.WriteJSON(cli.Written{First: r.First, Last: r.Last, Revision: r.Revision, Count: &r.Count,
			Duplicate: &r.Duplicate})
	}
	note := ""
	if r.Duplicate {
		note = " (had been appended before; nothing added)"
	}
	seqs := fmt.Sprintf("seq %d", r.First)
	if r.Last > r.First {
		seqs = fmt.Sprintf("seq %d to %d", r.First, r.Last)
	}
	_, err := fmt.Fprintf(a.Stdout, "%s, revision %d%s\n", seqs, r.Revision, note)
	return err
}

func messagesToAppend(a *cli.App, texts []string, f *appendFlags) ([]turn.NewMessage, error) {
	payloads, err := payloads(a, texts, f.lines)
	if err != nil {
		return nil, err
	}
	if len(f.ids) > 0 && len(f.ids) != len(payloads) {
		return nil, cli.Usagef("%d --id for %s: give one for each, or none", len(f.ids),
			cli.Plural(len(payloads), "message"))
	}
	messages := make([]turn.NewMessage, len(payloads))
	for i, p := range payloads {
		if f.role != "" {
			p = chatMessage(f.role, string(p))
		}
		messages[i].Data = p
		if len(f.ids) > 0 {
			messages[i].ID = f.ids[i]
		}
	}
	return messages, nil
}

func payloads(a *cli.App, texts []string, lines bool) ([][]byte, error) {
	switch {
	case lines && len(texts) > 0:
		return nil, cli.Usagef("--lines reads the messages from standard input; leave out the arguments")
	case lines:
		return readLines(a.Stdin)
	case len(texts) == 0:
		texts = []string{"-"}
	}
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
		if t == "-" {
			b, err := io.ReadAll(a.Stdin)
			if err != nil {
				return nil, err
			}
			out[i] = bytes.TrimSuffix(b, []byte{'\n'})
		}
	}
	return out, nil
}

func readLines(r io.Reader) ([][]byte, error) {
	var out [][]byte
	br := bufio.NewReader(r)
	for {
		l, err := br.ReadBytes('\n')
		if l = bytes.TrimRight(l, "\r\n"); len(l) > 0 {
			out = append(out, l)
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func chatMessage(role, content string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}{role, content}) // strings always encode
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
