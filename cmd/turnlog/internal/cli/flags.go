package cli

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

// ExpectFlag is --expect REVISION; not given, it is no condition.
type ExpectFlag struct{ Revision *uint64 }

func (f *ExpectFlag) Register(cmd *cobra.Command) {
	cmd.Flags().Var(f, "expect", "only if the session's revision is still this one (0: only if there is no session)")
}

func (f *ExpectFlag) String() string {
	if f.Revision == nil {
		return ""
	}
	return strconv.FormatUint(*f.Revision, 10)
}

func (f *ExpectFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	f.Revision = &n
	return err
}

// PositiveFlag is a number from 1 on; 0: the flag is not given.
type PositiveFlag uint64

func (f *PositiveFlag) String() string {
	if *f == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*f), 10)
}

// Set implements pflag.Value.
func (f *PositiveFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	*f = PositiveFlag(n)
	return err
}

// Type implements pflag.Value.
func (f *PositiveFlag) Type() string { return "positive" }

// PlainFlagError says what a flag needs where pflag quotes package strconv.
func PlainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return formerFlag(err)
	}
	flag := invalid.GetFlag()
	needs, ok := map[string]string{
		"revision": "a revision: a number from 0 on",
		"uint64":   "a number from 0 on",
		"positive": "a number from 1 on",
		"int":      "a number",
		"int64":    "a number",
		"duration": "a duration such as 500ms, 90s or 24h",
	}[flag.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s %q: must be %s", flag.Name, invalid.GetValue(), needs)
}

func (f *ExpectFlag) Type() string { return "revision" }

// On returns s with the condition, if there is one.
func (f *ExpectFlag) On(s client.Session) client.Session {
	if f.Revision == nil {
		return s
	}
	return s.Expect(*f.Revision)
}

// SideFlag is --from newest|tail|head.
type SideFlag struct{ Side turn.Side }

var sides = map[string]turn.Side{"newest": turn.Newest, "tail": turn.Tail, "head": turn.Head}

func (f *SideFlag) String() string {
	for name, s := range sides {
		if s == f.Side {
			return name
		}
	}
	return ""
}

func (f *SideFlag) Set(s string) error {
	side, ok := sides[strings.ToLower(s)]
	if !ok {
		return Usagef("must be newest, tail or head")
	}
	f.Side = side
	return nil
}

func (f *SideFlag) Type() string { return "end" }

// SplitAddrs returns the addresses of a list that commas separate.
func SplitAddrs(s string) []string {
	var addrs []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			addrs = append(addrs, part)
		}
	}
	return addrs
}
