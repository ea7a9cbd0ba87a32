package command

import "strings"

// Table finds commands.
type Table struct {
	list   []*Command // in the order of the reference page, without subcommands
	byName map[string]*Command
	Slots  []*Command // subcommands too, by slot
}

func (t *Table) add(cmd *Command) {
	cmd.Slot = len(t.Slots)
	cmd.Right, cmd.BeforeAuth, cmd.Blocks = cmd.neededRight(), cmd.Is("no_auth"), cmd.Is("blocking")
	t.Slots = append(t.Slots, cmd)
	t.byName[cmd.Name] = cmd
}

// Lookup finds a command or, as "container|sub", a subcommand, in any case.
func (t *Table) Lookup(name string) *Command { return t.byName[strings.ToLower(name)] }

// Find returns the command of a request, and the error if it may not be handled.
func (t *Table) Find(args [][]byte) (*Command, Error) {
	var buf [64]byte
	cmd := t.byName[string(lower(buf[:0], args[0]))]
	if cmd == nil || strings.Contains(cmd.Name, "|") {
		return nil, errUnknownCommand(args)
	}
	if cmd.subs != nil && len(args) > 1 {
		sub := t.byName[string(lower(append(lower(buf[:0], args[0]), '|'), args[1]))]
		if sub == nil {
			return cmd, errUnknownSubcommand(string(args[1]), cmd.Name)
		}
		cmd = sub
	}
	if !cmd.arityOK(len(args)) || cmd.Container() {
		return cmd, ErrArity(cmd.Name)
	}
	return cmd, ""
}

// lower appends name in lower case. What is too long for any name stays so.
func lower(dst, name []byte) []byte {
	for _, c := range name[:min(len(name), 40)] {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	if len(name) > 40 {
		dst = append(dst, '?')
	}
	return dst
}
