package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// expectFlag is --expect REVISION; not given, it is no condition.
type expectFlag struct{ revision *uint64 }

func (f *expectFlag) register(cmd *cobra.Command) {
	cmd.Flags().Var(f, "expect", "only if the session's revision is still this one (0: only if there is no session)")
}

func (f *expectFlag) String() string {
	if f.revision == nil {
		return ""
	}
	return strconv.FormatUint(*f.revision, 10)
}

func (f *expectFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	f.revision = &n
	return err
}

// plainFlagError says what a flag needs where pflag quotes package strconv.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	needs, ok := map[string]string{
		"revision": "a revision: a number from 0 on",
		"uint64":   "a number from 0 on",
		"int":      "a number",
		"int64":    "a number",
		"duration": "a duration such as 500ms, 90s or 24h",
	}[flag.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s %q: must be %s", flag.Name, invalid.GetValue(), needs)
}

func (f *expectFlag) Type() string { return "revision" }

// on returns s with the condition, if there is one.
func (f *expectFlag) on(s client.Session) client.Session {
	if f.revision == nil {
		return s
	}
	return s.Expect(*f.revision)
}

// sideFlag is --from newest|tail|head.
type sideFlag struct{ side turn.Side }

var sides = map[string]turn.Side{"newest": turn.Newest, "tail": turn.Tail, "head": turn.Head}

func (f *sideFlag) String() string {
	for name, s := range sides {
		if s == f.side {
			return name
		}
	}
	return ""
}

func (f *sideFlag) Set(s string) error {
	side, ok := sides[strings.ToLower(s)]
	if !ok {
		return usagef("must be newest, tail or head")
	}
	f.side = side
	return nil
}

func (f *sideFlag) Type() string { return "end" }
