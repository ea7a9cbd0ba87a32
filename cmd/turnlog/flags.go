package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

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
