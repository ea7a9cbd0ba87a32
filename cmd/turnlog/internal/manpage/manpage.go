// Package manpage writes the manual pages of the program: a page for each command, from its help and its
// flags. What a page says is said nowhere else.
package manpage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Write writes the pages of root and of all commands under it into dir, as turnlog-cluster-join.1. It makes
// the directory. The same commands and version give the same bytes.
func Write(root *cobra.Command, dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return each(root, func(cmd *cobra.Command) error {
		return os.WriteFile(filepath.Join(dir, name(cmd)+".1"), []byte(Page(cmd, version)), 0o644)
	})
}

// each calls f for cmd and all commands under it, except hidden ones.
func each(cmd *cobra.Command, f func(*cobra.Command) error) error {
	if err := f(cmd); err != nil {
		return err
	}
	for _, sub := range listed(cmd) {
		if err := each(sub, f); err != nil {
			return err
		}
	}
	return nil
}

func listed(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			list = append(list, sub)
		}
	}
	return list
}

func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page returns the page of one command, in the macros of man(7).
func Page(cmd *cobra.Command, version string) string {
	p := &page{}
	p.line(".TH %q 1 \"\" %q \"turnlog\"", strings.ToUpper(name(cmd)), "turnlog "+version)
	p.line(".SH NAME\n%s \\- %s", escape(name(cmd)), escape(cmd.Short))
	p.line(".SH SYNOPSIS\n.B %s", escape(cmd.UseLine()))
	p.section("DESCRIPTION", cmd.Long)
	p.commands(listed(cmd))
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	if cmd.HasParent() {
		p.line(".SH GLOBAL OPTIONS\n%s has those that all commands share.", reference(cmd.Root().Name()))
	}
	if cmd.Example != "" {
		p.line(".SH EXAMPLES")
		p.verbatim(strings.Split(cmd.Example, "\n"))
	}
	if cmd.HasParent() {
		p.line(".SH SEE ALSO\n%s", reference(name(cmd.Parent())))
	}
	return p.String()
}

type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// section writes text as it is in the help: lines that begin with a space stay as they are, the others
// are filled.
func (p *page) section(title, text string) {
	if text == "" {
		return
	}
	p.line(".SH %s", title)
	var kept []string
	flush := func() {
		if len(kept) > 0 {
			p.verbatim(kept)
			kept = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, " "):
			kept = append(kept, line)
		case line == "":
			flush()
			p.line(".PP")
		default:
			flush()
			p.line("%s", escape(line))
		}
	}
	flush()
}

func (p *page) verbatim(lines []string) {
	p.line(".PP\n.nf")
	for _, line := range lines {
		p.line("%s", escape(line))
	}
	p.line(".fi")
}

func (p *page) commands(list []*cobra.Command) {
	if len(list) == 0 {
		return
	}
	p.line(".SH COMMANDS")
	for _, cmd := range list {
		p.line(".TP\n%s\n%s", reference(name(cmd)), escape(cmd.Short))
	}
}

func (p *page) flags(title string, set *pflag.FlagSet) {
	titled := false
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !titled {
			p.line(".SH %s", title)
			titled = true
		}
		p.flag(f)
	})
}

func (p *page) flag(f *pflag.Flag) {
	argument, usage := pflag.UnquoteUsage(f)
	head := `\fB` + escape("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		head = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + head
	}
	if argument != "" {
		head += ` \fI` + escape(argument) + `\fR`
	}
	usage = strings.ReplaceAll(usage, "\n", " ")
	switch f.DefValue {
	case "", "false", "[]", "0s":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	p.line(".TP\n%s\n%s", head, escape(usage))
}

func reference(name string) string { return `\fB` + escape(name) + `\fR(1)` }

// escape returns text that groff shows as it is, with dashes that can be copied into a shell.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
