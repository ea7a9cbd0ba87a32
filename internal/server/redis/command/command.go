package command

import (
	"strings"

	"github.com/turnlog/turnlog/internal/auth"
)

// Command is a row of the table.
type Command struct {
	Name    string // lower case; of a subcommand "container|sub"
	Arity   int    // number of words with the name; -n: at least n
	flags   string // Redis's words for its properties, separated by spaces
	keys    keySpec
	movable func(args [][]byte) [][]byte // finds the keys where keys cannot say; else nil
	// "@category" beyond those that follow from flags and group; "-@category": less
	acl     string
	tips    string // hints for cluster clients, separated by spaces
	group   string
	since   string // version of Redis, or "turnlog"
	Args    string // what follows the name, for people
	summary string
	tier    string // of the reference page
	Native  bool   // TURN.*: errors with turnlog's codes
	Handle  Handler
	// Conn: the connection handles it itself, in place of handle.
	Conn bool
	// Stateful: handling it changes the connection, so it cannot be queued.
	Stateful bool
	// Scope is what a command without keys gets at.
	Scope Scope
	// ForAll: every user may, although Redis counts it as administration.
	ForAll bool
	subs   []Command // a container has these instead of handle
	// readsWith: with so many words, it only reads, though it is a command that writes; 0: none.
	readsWith int

	Slot       int // place in the statistics
	Right      auth.Right
	BeforeAuth bool // it may be sent before authenticating
	Blocks     bool
}

// Handler makes an action of a request. args are its words, the command's name first, and valid
// until the handler returns.
type Handler func(req *Request, args [][]byte) Action

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

// KeyRun returns a run of arguments of which every step-th is a key, without making a
// list where the keys follow each other.
func (cmd *Command) KeyRun(args [][]byte) (run [][]byte, step int) {
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

// HasKeys reports whether some of the arguments of the command are keys.
func (cmd *Command) HasKeys() bool { return cmd.movable != nil || cmd.keys.first != 0 }

// keysOf returns the arguments that are keys.
func (cmd *Command) keysOf(args [][]byte) [][]byte {
	if cmd.movable != nil {
		return cmd.movable(args)
	}
	return cmd.keys.of(args)
}

// Container reports whether the command does nothing without a subcommand.
func (cmd *Command) Container() bool { return cmd.Handle == nil && !cmd.Conn }

func (cmd *Command) arityOK(n int) bool {
	return n == cmd.Arity || cmd.Arity < 0 && n >= -cmd.Arity
}

// Is reports whether the command has a flag.
func (cmd *Command) Is(flag string) bool {
	for f := range strings.FieldsSeq(cmd.flags) {
		if f == flag {
			return true
		}
	}
	return false
}

// categories returns the ACL categories, in Redis's order.
func (cmd *Command) categories() []string {
	if cmd.Container() {
		return []string{"@slow"} // a container; its subcommands have categories
	}
	has := map[string]bool{"@" + category(cmd.group): true, "@slow": !cmd.Is("fast"), "@fast": cmd.Is("fast"),
		"@write": cmd.Is("write"), "@read": cmd.Is("readonly"), "@admin": cmd.Is("admin"),
		"@dangerous": cmd.Is("admin"), "@blocking": cmd.Is("blocking"), "@keyspace": cmd.group == "generic"}
	for extra := range strings.FieldsSeq(cmd.acl) {
		name, not := strings.CutPrefix(extra, "-")
		has[name] = !not
	}
	var out []string
	for _, c := range []string{"@keyspace", "@read", "@write", "@list", "@string", "@hash", "@set", "@sortedset",
		"@stream", "@pubsub", "@turn", "@admin", "@fast", "@slow", "@blocking", "@dangerous", "@connection",
		"@transaction"} {
		if has[c] {
			out = append(out, c)
		}
	}
	return out
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
