package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// ErrLeft ends a blocking request when the client has closed the connection, or its
// sending half, as in Redis. There is no reply.
var ErrLeft = errors.New("the client has closed the connection")

// Redis's own texts, which clients compare.
const (
	ErrSyntax      Error = "ERR syntax error"
	ErrNotInteger  Error = "ERR value is not an integer or out of range"
	errNotPositive Error = "ERR value is out of range, must be positive"
	errNoCluster   Error = "ERR This instance has cluster support disabled"
	ErrWrongType   Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errScanCursor  Error = "ERR invalid cursor"
	ErrLostCursor  Error = "ERR invalid cursor: no key or element that this user may read has it now; " +
		"start again with 0"
	errExpireNX    Error = "ERR NX and XX, GT or LT options at the same time are not compatible"
	errExpireGTLT  Error = "ERR GT and LT options at the same time are not compatible"
	errNoSuchKey   Error = "ERR no such key"
	errNotFloat    Error = "ERR value is not a valid float"
	errMinMaxFloat Error = "ERR min or max is not a float"
	errMinMaxName  Error = "ERR min or max not valid string range item"
)

// ErrArity refuses a request that has too few or too many arguments.
func ErrArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

func errUnknownSubcommand(sub, container string) Error {
	return Error(fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", Clip(sub, 128), strings.ToUpper(container)))
}

// errUnknownCommand quotes the first arguments, up to 128 bytes of them.
func errUnknownCommand(args [][]byte) Error {
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%s' ", Clip(string(a), 128-b.Len()))
	}
	return Error(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", Clip(string(args[0]), 128),
		b.String()))
}

// Clip cuts s at n bytes and, as Redis does, at a NUL.
func Clip(s string, n int) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s[:min(n, len(s))]
}

// ErrorText turns an error of the engine into a reply. The TURN.* commands answer
// with turnlog's codes; Redis's commands with Redis's, so that Redis clients react
// to them as they should: they may send the request again after LOADING, and
// after no other code. docs/redis.md explains the choices.
func ErrorText(err error, native bool) string {
	var own Error
	if errors.As(err, &own) {
		return string(own)
	}
	e := turn.AsError(err)
	if native {
		return NativeText(e)
	}
	switch e.Kind {
	case turn.Unavailable:
		return "LOADING " + e.Message + "; nothing was changed, try again"
	case turn.Unknown:
		return "UNKNOWNRESULT the write may or may not have been applied; read before sending it again (" +
			e.Message + ")"
	case turn.ReadOnly:
		return "MISCONF " + e.Message
	case turn.WrongType:
		return string(ErrWrongType)
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

// NativeText is the text of an error as the TURN.* commands answer it.
func NativeText(e *turn.Error) string {
	text := e.Kind.String()
	for _, n := range [...]struct {
		name  string
		n     uint64
		given bool
	}{
		{" revision=", e.Revision, e.Kind == turn.Conflict},
		{" condition=", uint64(e.Condition), e.Condition > 0},
		{" step=", uint64(e.Step), e.Step > 0},
	} {
		if n.given {
			text += n.name + strconv.FormatUint(n.n, 10)
		}
	}
	return text + " " + e.Message
}

// TooLarge refuses what is beyond a limit.
func TooLarge(format string, args ...any) Error {
	return Error(ErrorText(turn.Errorf(turn.TooLarge, format, args...), false))
}

// ErrCrowded refuses what a connection would have to keep beyond its memory.
const ErrCrowded Error = "OVERLOADED too much is kept for clients at the moment"

// Invalid is an error of a TURN.* request.
func Invalid(format string, args ...any) Error {
	return Error(NativeText(turn.Errorf(turn.Invalid, format, args...)))
}

func errExpireTime(command string) Error {
	return Error("ERR invalid expire time in '" + command + "' command")
}
