package redis

import (
	"strings"

	"github.com/turnlog/turnlog/internal/auth"
)

// command is a row of the table.
type command struct {
	name    string // lower case; of a subcommand "container|sub"
	arity   int    // number of words with the name; -n: at least n
	flags   string // Redis's words for its properties, separated by spaces
	keys    keySpec
	movable func(args [][]byte) [][]byte // finds the keys where keys cannot say; else nil
	acl     string                       // "@category" beyond those that follow from flags and group; "-@category": less
	tips    string                       // hints for cluster clients, separated by spaces
	group   string
	since   string // version of Redis, or "turnlog"
	args    string // what follows the name, for people
	summary string
	tier    string // of the reference page
	native  bool   // TURN.*: errors with turnlog's codes
	handle  handler
	// stateful: handling it changes the connection, so it cannot be queued.
	stateful bool
	// reach is what a command without keys gets at.
	reach reach
	// forAll: every user may, although Redis counts it as administration.
	forAll bool
	subs   []command // a container has these instead of handle

	slot       int // place in the statistics
	right      auth.Right
	beforeAuth bool // strangers may
	blocks     bool
}

// handler makes an action of a request. args[0] is the name of the command, and
// args are valid until it returns.
type handler func(c *conn, args [][]byte) Action

// keySpec says which arguments are keys: from first to last, every step-th one.
// A negative last counts from the end. Zero: none.
type keySpec struct{ first, last, step int }

func (k keySpec) of(args [][]byte) [][]byte {
	if k.first == 0 {
		return nil
	}
	last := k.last
	if last < 0 {
		last += len(args)
	}
	var keys [][]byte
	for i := k.first; i <= last && i < len(args); i += k.step {
		keys = append(keys, args[i])
	}
	return keys
}

// keyRun returns a run of arguments of which every step-th is a key, without making a
// list where the keys stand in a row.
func (cmd *command) keyRun(args [][]byte) (run [][]byte, step int) {
	switch {
	case cmd.movable != nil:
		return cmd.movable(args), 1
	case cmd.keys.first == 0:
		return nil, 1
	}
	last := cmd.keys.last
	if last < 0 {
		last += len(args)
	}
	first := min(cmd.keys.first, len(args))
	return args[first:max(first, min(last+1, len(args)))], cmd.keys.step
}

// keysOf returns the arguments that are keys.
func (cmd *command) keysOf(args [][]byte) [][]byte {
	if cmd.movable != nil {
		return cmd.movable(args)
	}
	return cmd.keys.of(args)
}

func (cmd *command) arityOK(n int) bool {
	return n == cmd.arity || cmd.arity < 0 && n >= -cmd.arity
}

// is reports whether the command has a flag.
func (cmd *command) is(flag string) bool {
	for f := range strings.FieldsSeq(cmd.flags) {
		if f == flag {
			return true
		}
	}
	return false
}

// categories returns the ACL categories, in Redis's order.
func (cmd *command) categories() []string {
	if cmd.handle == nil {
		return []string{"@slow"} // a container; its subcommands have categories
	}
	has := map[string]bool{"@" + category(cmd.group): true, "@slow": !cmd.is("fast"), "@fast": cmd.is("fast"),
		"@write": cmd.is("write"), "@read": cmd.is("readonly"), "@admin": cmd.is("admin"),
		"@dangerous": cmd.is("admin"), "@blocking": cmd.is("blocking"), "@keyspace": cmd.group == "generic"}
	for extra := range strings.FieldsSeq(cmd.acl) {
		name, not := strings.CutPrefix(extra, "-")
		has[name] = !not
	}
	var out []string
	for _, c := range []string{"@keyspace", "@read", "@write", "@list", "@string", "@hash", "@set", "@sortedset", "@stream", "@pubsub", "@turn", "@admin", "@fast", "@slow", "@blocking", "@dangerous", "@connection", "@transaction"} {
		if has[c] {
			out = append(out, c)
		}
	}
	return out
}

// table finds commands.
type table struct {
	list   []*command // in the order of the reference page, without subcommands
	byName map[string]*command
	slots  []*command // subcommands too, by slot
}

func newTable() *table {
	t := &table{byName: make(map[string]*command)}
	for _, cmd := range commands() {
		t.add(&cmd)
		t.list = append(t.list, &cmd)
		for i := range cmd.subs {
			sub := &cmd.subs[i]
			sub.tier, sub.group, sub.name = cmd.tier, cmd.group, cmd.name+"|"+sub.name
			t.add(sub)
		}
	}
	return t
}

func (t *table) add(cmd *command) {
	cmd.slot = len(t.slots)
	cmd.right, cmd.beforeAuth, cmd.blocks = cmd.neededRight(), cmd.is("no_auth"), cmd.is("blocking")
	t.slots = append(t.slots, cmd)
	t.byName[cmd.name] = cmd
}

// lookup finds a command or, as "container|sub", a subcommand, in any case.
func (t *table) lookup(name string) *command { return t.byName[strings.ToLower(name)] }

// find returns the command of a request, and the error if it may not be handled.
func (t *table) find(args [][]byte) (*command, Error) {
	var buf [64]byte
	cmd := t.byName[string(lower(buf[:0], args[0]))]
	if cmd == nil || strings.Contains(cmd.name, "|") {
		return nil, errUnknownCommand(args)
	}
	if cmd.subs != nil && len(args) > 1 {
		sub := t.byName[string(lower(append(lower(buf[:0], args[0]), '|'), args[1]))]
		if sub == nil {
			return cmd, errUnknownSubcommand(string(args[1]), cmd.name)
		}
		cmd = sub
	}
	if !cmd.arityOK(len(args)) || cmd.handle == nil {
		return cmd, errArity(cmd.name)
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

// category returns the ACL category of a group of commands.
func category(group string) string {
	switch group {
	case "sorted-set":
		return "sortedset"
	case "transactions":
		return "transaction"
	}
	return group
}
