package command

import (
	"strconv"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/server/redis/glob"
)

// Scope says what a command gets at that has no keys. A command without keys and
// without a scope is refused to every user who is limited in any way.
type Scope uint8

const (
	ScopeUnstated  Scope = iota
	ScopeServer          // its connection, or the server: no keys, names of keys or values
	ScopeShown           // those keys of the namespace that the user may see; the handler sees to it
	ScopeNamespace       // every key of the namespace
	ScopeDatabases       // every key of every numbered database
	scopePrefix          // every key of the namespace that begins with the third word
	ScopeEntered         // the namespace that the second word names, if there is one
	ScopeTold            // the channel that the second word names
	ScopeHeard           // the channels that the words name
	ScopeHeardAll        // the channels whose names match the words
	ScopeChannels        // every channel, or counts of their subscribers
)

// neededRight returns the right that a command needs, unless it only reads with the words that it has. It follows
// from what the table says.
func (cmd *Command) neededRight() auth.Right {
	switch {
	case cmd.Is("admin") && !cmd.ForAll:
		return auth.Admin
	case cmd.Is("write"), cmd.Scope == ScopeTold:
		return auth.Write
	case cmd.Scope == ScopeServer:
		return auth.None
	}
	return auth.Read
}

const (
	ErrNoAuth       Error = "NOAUTH Authentication required."
	ErrNoKeyPerm    Error = "NOPERM this user has no permissions to access one of the keys used as arguments"
	ErrNoChanPerm   Error = "NOPERM this user has no permissions to access one of the channels used as arguments"
	ErrNoDBPerm     Error = "NOPERM this user has no permissions to access this namespace"
	errNoWholePerm  Error = "NOPERM this user has no permissions to access all keys that the command concerns"
	errNoPrefixPerm Error = "NOPERM this user has no permissions to access all keys with this prefix"
)

// ErrNoCommandPerm refuses a command that the user's right does not allow.
func ErrNoCommandPerm(cmd *Command) Error {
	return Error("NOPERM this user has no permissions to run the '" + cmd.Name + "' command")
}

// Permit decides whether a user may make a request in a namespace.
func (cmd *Command) Permit(u *auth.User, ns string, args [][]byte) Error {
	right := cmd.Right
	if len(args) == cmd.readsWith {
		right = auth.Read
	}
	if !u.May(right) {
		return ErrNoCommandPerm(cmd)
	}
	if cmd.HasKeys() {
		return permitKeys(u, cmd, ns, args)
	}
	ok, refusal := true, ErrNoDBPerm
	switch cmd.Scope {
	case ScopeServer:
	case ScopeShown:
		ok = u.MayEnter(ns)
	case ScopeNamespace:
		ok, refusal = u.MayTouchAll(ns, ""), errNoWholePerm
	case ScopeDatabases:
		refusal = errNoWholePerm
		for _, db := range Numbered() {
			ok = ok && u.MayTouchAll(db, "")
		}
	case scopePrefix:
		ok, refusal = u.MayTouchAll(ns, string(args[2])), errNoPrefixPerm
	case ScopeEntered:
		ok = len(args) == 1 || u.MayEnter(string(args[1]))
	case ScopeTold:
		ok, refusal = mayHear(u, ns, args[1]), ErrNoChanPerm
	case ScopeHeard:
		refusal = ErrNoChanPerm
		for _, channel := range args[1:] {
			ok = ok && (string(channel) == SwitchMaster || mayHear(u, ns, channel))
		}
	case ScopeHeardAll:
		refusal = ErrNoChanPerm
		for _, pattern := range args[1:] {
			ok = ok && mayHear(u, ns, []byte(glob.LiteralPrefix(string(pattern))))
		}
	case ScopeChannels:
		ok, refusal = mayHear(u, ns, nil), ErrNoChanPerm
	default:
		ok, refusal = u.May(auth.Admin) && u.MayTouchAll(ns, ""), ErrNoCommandPerm(cmd)
	}
	if !ok {
		return refusal
	}
	return ""
}

// permitKeys goes through the arguments that are keys, without making a list.
func permitKeys(u *auth.User, cmd *Command, ns string, args [][]byte) Error {
	if !u.MayEnter(ns) {
		return ErrNoDBPerm
	}
	keys, step := cmd.KeyRun(args)
	for i := 0; i < len(keys); i += step {
		if !u.MayTouch(keys[i]) {
			return ErrNoKeyPerm
		}
	}
	return ""
}

// mayHear reports whether all channels that begin with prefix are the user's.
func mayHear(u *auth.User, ns string, prefix []byte) bool {
	if n, err := strconv.Atoi(ns); err == nil && n >= 0 && n < Databases {
		return u.MayHear(Numbered(), prefix) // they share their channels
	}
	return u.MayHear([]string{ns}, prefix)
}

// Databases is how many numbered databases SELECT knows.
const Databases = 16

// Numbered returns the namespaces that are numbered databases.
func Numbered() []string {
	return []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"}
}
