package clients

import (
	"strings"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// Filter selects connections; a zero field does not.
type Filter struct {
	id          uint64
	addr, laddr string
	kind        string
	User        string
	SkipMe      bool // not that of the client that asks; Match does not look at it
}

// ParseFilter reads the filters of CLIENT KILL.
func ParseFilter(args [][]byte) (Filter, command.Error) {
	f := Filter{SkipMe: true}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return f, command.ErrSyntax
		}
		if err := f.add(strings.ToUpper(string(args[i])), args[i+1]); err != "" {
			return f, err
		}
	}
	return f, ""
}

func (f *Filter) add(name string, value []byte) (err command.Error) {
	switch name {
	case "ID":
		n, ok := command.ParseInt(value)
		if !ok || n < 1 {
			return "ERR client-id should be greater than 0"
		}
		f.id = uint64(n)
	case "ADDR":
		f.addr = string(value)
	case "LADDR":
		f.laddr = string(value)
	case "USER":
		f.User = string(value)
	case "TYPE":
		f.kind, err = ParseType(value)
	case "SKIPME":
		if !command.Is(value, "yes") && !command.Is(value, "no") {
			return command.ErrSyntax
		}
		f.SkipMe = command.Is(value, "yes")
	default:
		return command.ErrSyntax
	}
	return err
}

// Match reports whether a connection is one of those that f selects.
func (f Filter) Match(c *Client) bool {
	return (f.kind == "" || f.kind == c.Type()) && (f.User == "" || f.User == c.UserName()) &&
		(f.id == 0 || f.id == c.ID) &&
		(f.addr == "" || f.addr == c.Remote.String()) && (f.laddr == "" || f.laddr == c.Local.String())
}

// ParseType reads a type of connection: see Client.Type.
func ParseType(arg []byte) (string, command.Error) {
	switch name := strings.ToLower(string(arg)); name {
	case "normal", "master", "replica", "slave", "pubsub":
		return name, ""
	}
	return "", command.Error("ERR Unknown client type '" + command.Clip(string(arg), 128) + "'")
}

// Type is the connection's type: pubsub if it has subscriptions, else normal.
func (c *Client) Type() string {
	if c.Listens() {
		return "pubsub"
	}
	return "normal"
}
