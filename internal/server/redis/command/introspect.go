package command

import (
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/glob"
)

func commandCount(req *Request, _ [][]byte) Action {
	return Integer(int64(len(req.Backend.table.list)))
}

// commandAll is COMMAND without a subcommand.
func commandAll(req *Request, args [][]byte) Action {
	return Reply(func(w *resp.Writer) { writeCommands(w, req.Backend.table.list) })
}

// commandInfo is COMMAND INFO [name …].
func commandInfo(req *Request, args [][]byte) Action {
	cmds := req.Backend.table.list
	if len(args) > 2 {
		cmds = nil
		for _, a := range args[2:] {
			cmds = append(cmds, req.Backend.table.Lookup(string(a))) // nil is written as null
		}
	}
	return Reply(func(w *resp.Writer) { writeCommands(w, cmds) })
}

func writeCommands(w *resp.Writer, cmds []*Command) {
	w.Array(len(cmds))
	for _, cmd := range cmds {
		if cmd == nil {
			w.NullArray()
			continue
		}
		writeCommand(w, cmd)
	}
}

func writeCommand(w *resp.Writer, cmd *Command) {
	w.Array(10)
	w.BulkString(cmd.Name)
	w.Int(int64(cmd.Arity))
	writeStatusSet(w, strings.Fields(cmd.flags))
	w.Int(int64(cmd.keys.first))
	w.Int(int64(cmd.keys.last))
	w.Int(int64(cmd.keys.step))
	writeStatusSet(w, cmd.categories())
	tips := strings.Fields(cmd.tips)
	w.Array(len(tips))
	for _, t := range tips {
		w.BulkString(t)
	}
	writeKeySpecs(w, cmd)
	w.Array(len(cmd.subs))
	for i := range cmd.subs {
		writeCommand(w, &cmd.subs[i])
	}
}

func writeStatusSet(w *resp.Writer, words []string) {
	w.Set(len(words))
	for _, f := range words {
		w.Status(f)
	}
}

// writeKeySpecs says the same about keys as the three numbers do, in the newer form.
func writeKeySpecs(w *resp.Writer, cmd *Command) {
	if cmd.keys.first == 0 {
		w.Array(0)
		return
	}
	last := cmd.keys.last
	if last > 0 {
		last -= cmd.keys.first
	}
	access := "RW"
	if cmd.Is("readonly") {
		access = "RO"
	}
	w.Array(1)
	w.Map(3)
	w.BulkString("flags")
	writeStatusSet(w, []string{access, "access"})
	w.BulkString("begin_search")
	writeSpec(w, "index", "index", cmd.keys.first)
	w.BulkString("find_keys")
	writeSpec(w, "range", "lastkey", last, "keystep", cmd.keys.step, "limit", 0)
}

func writeSpec(w *resp.Writer, kind string, pairs ...any) {
	w.Map(2)
	writePairs(w, "type", kind)
	w.BulkString("spec")
	w.Map(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		writePairs(w, pairs[i], int64(pairs[i+1].(int)))
	}
}

// commandDocs is COMMAND DOCS [name …].
func commandDocs(req *Request, args [][]byte) Action {
	cmds := req.Backend.table.list
	if len(args) > 2 {
		cmds = nil
		for _, a := range args[2:] {
			if cmd := req.Backend.table.Lookup(string(a)); cmd != nil {
				cmds = append(cmds, cmd)
			}
		}
	}
	return Reply(func(w *resp.Writer) {
		w.Map(len(cmds))
		for _, cmd := range cmds {
			writeDocs(w, cmd)
		}
	})
}

func writeDocs(w *resp.Writer, cmd *Command) {
	w.BulkString(cmd.Name)
	n := 3
	if cmd.subs != nil {
		n++
	}
	w.Map(n)
	writePairs(w, "summary", cmd.summary, "since", cmd.since, "group", cmd.group)
	if cmd.subs == nil {
		return
	}
	w.BulkString("subcommands")
	w.Map(len(cmd.subs))
	for i := range cmd.subs {
		writeDocs(w, &cmd.subs[i])
	}
}

// commandList is COMMAND LIST [FILTERBY MODULE name|ACLCAT category|PATTERN pattern].
func commandList(req *Request, args [][]byte) Action {
	keep := func(*Command) bool { return true }
	if len(args) > 2 {
		if len(args) != 5 || !Is(args[2], "FILTERBY") {
			return ErrSyntax
		}
		value := strings.ToLower(string(args[4]))
		if long := LongPattern(value); long != "" {
			return long
		}
		switch {
		case Is(args[3], "MODULE"):
			keep = func(*Command) bool { return false }
		case Is(args[3], "ACLCAT"):
			keep = func(cmd *Command) bool { return slices.Contains(cmd.categories(), "@"+value) }
		case Is(args[3], "PATTERN"):
			keep = func(cmd *Command) bool { return glob.Match(value, cmd.Name) }
		default:
			return ErrSyntax
		}
	}
	var names []string
	for _, cmd := range req.Backend.table.list {
		if keep(cmd) {
			names = append(names, cmd.Name)
		}
	}
	return Reply(func(w *resp.Writer) { WriteNames(w, names) })
}

// commandGetKeys is COMMAND GETKEYS command [arg …].
func commandGetKeys(req *Request, args [][]byte) Action {
	request := args[2:]
	cmd, err := req.Backend.table.Find(request)
	switch {
	case cmd == nil:
		return Error("ERR Invalid command specified")
	case err != "":
		return Error("ERR Invalid number of arguments specified for command")
	}
	var names []string
	for _, k := range cmd.keysOf(request) {
		names = append(names, string(k))
	}
	if len(names) == 0 {
		return Error("ERR The command has no key arguments")
	}
	return Reply(func(w *resp.Writer) { WriteNames(w, names) })
}

// help makes the handler of a container's HELP.
func help(container string) Handler {
	return func(req *Request, _ [][]byte) Action {
		cmd := req.Backend.table.Lookup(container)
		lines := []string{strings.ToUpper(container) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
		for i := range cmd.subs {
			sub := &cmd.subs[i]
			_, word, _ := strings.Cut(sub.Name, "|")
			lines = append(lines, strings.TrimSpace(strings.ToUpper(word)+" "+sub.Args), "    "+sub.summary)
		}
		return Reply(func(w *resp.Writer) {
			w.Array(len(lines))
			for _, l := range lines {
				w.Status(l)
			}
		})
	}
}
