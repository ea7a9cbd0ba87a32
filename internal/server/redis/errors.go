package redis

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// Redis's own texts, which clients compare.
const (
	errSyntax       Error = "ERR syntax error"
	errNotInteger   Error = "ERR value is not an integer or out of range"
	errNotInt32     Error = "ERR value is out of range, value must between -2147483648 and 2147483647"
	errNotPositive  Error = "ERR value is out of range, must be positive"
	errDBRange      Error = "ERR DB index is out of range"
	errNoCluster    Error = "ERR This instance has cluster support disabled"
	errMaxClients   Error = "ERR max number of clients reached"
	errWrongPass    Error = "WRONGPASS invalid username-password pair or user is disabled."
	errNoPassword   Error = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	errNoProto      Error = "NOPROTO unsupported protocol version"
	errClientName   Error = "ERR Client names cannot contain spaces, newlines or special characters."
	errWrongType    Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errScanCursor   Error = "ERR invalid cursor"
	errLostCursor   Error = "ERR invalid cursor: the place at which it stood is gone; begin again with 0"
	errExpireNX     Error = "ERR NX and XX, GT or LT options at the same time are not compatible"
	errExpireGTLT   Error = "ERR GT and LT options at the same time are not compatible"
	errNoSuchKey    Error = "ERR no such key"
	errNotFloat     Error = "ERR value is not a valid float"
	errMinMaxFloat  Error = "ERR min or max is not a float"
	errMinMaxName   Error = "ERR min or max not valid string range item"
	errNoSuchClient Error = "ERR No such client"
)

func errArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

func errUnknownSubcommand(sub, container string) Error {
	return Error(fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", clip(sub, 128), strings.ToUpper(container)))
}

// errUnknownCommand quotes the first arguments, up to 128 bytes of them.
func errUnknownCommand(args [][]byte) Error {
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%s' ", clip(string(a), 128-b.Len()))
	}
	return Error(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", clip(string(args[0]), 128), b.String()))
}

// clip cuts s at n bytes and, as Redis does, at a NUL.
func clip(s string, n int) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s[:min(n, len(s))]
}

// errorText turns an error of the engine into a reply. The TURN.* commands answer
// with turnlog's codes; Redis's commands with Redis's, so that Redis clients react
// to them as they should: they may send the request again after LOADING, and
// after no other code. docs/redis.md explains the choices.
func errorText(err error, native bool) string {
	var own Error
	if errors.As(err, &own) {
		return string(own)
	}
	e := turn.AsError(err)
	if native {
		return nativeText(e)
	}
	switch e.Kind {
	case turn.Unavailable:
		return "LOADING " + e.Message + "; nothing was changed, try again"
	case turn.Unknown:
		return "UNKNOWNRESULT the write may or may not have been applied; read before sending it again (" + e.Message + ")"
	case turn.ReadOnly:
		return "MISCONF " + e.Message
	case turn.WrongType:
		return string(errWrongType)
	case turn.NotFound:
		return "ERR no such key"
	case turn.Invalid:
		return "ERR " + e.Message
	case turn.Unauthorized:
		return "NOAUTH Authentication required."
	case turn.Forbidden:
		return "NOPERM " + e.Message
	}
	return e.Kind.String() + " " + e.Message
}

func nativeText(e *turn.Error) string {
	if e.Kind == turn.Conflict {
		return e.Kind.String() + " revision=" + strconv.FormatUint(e.Revision, 10) + " " + e.Message
	}
	return e.Kind.String() + " " + e.Message
}

// invalid is an error of a TURN.* request.
func invalid(format string, args ...any) Error {
	return Error(nativeText(turn.Errorf(turn.Invalid, format, args...)))
}

func errExpireTime(command string) Error {
	return Error("ERR invalid expire time in '" + command + "' command")
}
