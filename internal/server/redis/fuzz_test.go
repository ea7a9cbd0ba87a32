package redis

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// FuzzRequests sends pipelines of requests that are well-formed, made of commands
// that there are and of arguments that mean something to one of them, or of any
// bytes, as a user of some keys. Each request is answered, in whichever order they
// come, no reply shows another's keys, and nothing is kept when the client leaves.
//
// A byte of the input chooses a command, the next one how many of its arguments are
// replaced, and further ones by what.
func FuzzRequests(f *testing.F) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name, line := range requests {
			if !slices.Contains(neverFuzzed, name) && !yield(strings.ReplaceAll(line, "hidden", "shown")) {
				return
			}
		}
	})
	names = append(names, fuzzedTransactions...)
	for i := range names {
		f.Add([]byte{byte(i), 0, byte(i + 1), 1, 1, byte(i), byte(i + 2), 2, 0, 3, 1, byte(2 * i)})
	}
	_, users := newUsersFile(f, testUser{"owner", "write", "['0']", "prefixes: ['theirs:']"},
		testUser{"root", "admin", "['*']", ""},
		testUser{"neighbour", "write", "['0']", "prefixes: ['mine:']\n    channels: ['mine:']"})
	s := open(f, Config{Engine: openEngine(f, turn.DefaultLimits()), Users: users})
	s.as(f, "root").seed()
	f.Fuzz(func(t *testing.T, in []byte) {
		var sent bytes.Buffer
		count := 0
		writeRequest(&sent, "AUTH", "neighbour", passwordOf("neighbour"))
		for len(in) > 0 && count < 64 {
			var args []string
			args, in = fuzzedRequest(names, in)
			writeRequest(&sent, args...)
			count++
		}
		c := pipe(s)
		c.SetDeadline(time.Now().Add(time.Minute))
		go func() {
			c.Write(sent.Bytes())
			writeRequest(c, "QUIT")
		}()
		seen, err := io.ReadAll(c)
		c.Close()
		if err != nil && err != io.EOF {
			t.Fatalf("after %q and %q: %v", sent.Bytes(), seen, err)
		}
		if bytes.Contains(seen, []byte("hidden")) {
			t.Fatalf("%q shows %q", sent.Bytes(), seen)
		}
		readReplies(t, sent.Bytes(), seen)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for s.Metrics().Connections > 1 || s.Metrics().ReceiveBytes > 0 {
			if ctx.Err() != nil {
				t.Fatalf("%+v is left after %q", s.Metrics(), sent.Bytes())
			}
			runtime.Gosched()
		}
	})
}

// neverFuzzed end the connection, block it, or change how replies look on purpose.
var neverFuzzed = []string{"auth", "quit", "client|reply", "client|kill", "blpop", "brpop", "blmpop", "blmove",
	"brpoplpush", "wait", "waitaof", "subscribe", "psubscribe", "turn.tail"}

// fuzzedTransactions have the steps that a line for each command does not show.
var fuzzedTransactions = []string{
	"TURN.TX ID i IF mine:1 EXISTS STEP 6 TURN.POP mine:1 COUNT 1 FROM HEAD STEP 5 TURN.APPEND mine:new MSG m p",
	"TURN.TX STEP 5 TURN.EDIT mine:1 SEQ 1 p STEP 4 TURN.REMOVE mine:1 SEQ 1 STEP 7 TURN.REPLACE mine:1 FROM 1 MSG m p",
	"TURN.TX ID i STEP 4 TURN.RENAME mine:1 mine:new REPLACE STEP 4 TURN.RETAIN mine:2 MESSAGES 1",
}

// readReplies reads the replies as a client does.
func readReplies(t *testing.T, sent, seen []byte) {
	in := resp.NewReplyReader(bytes.NewReader(seen), resp.Limits{})
	for {
		if _, err := in.Next(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%q is answered with %q: %v", sent, seen, err)
		}
	}
}

var fuzzArguments = []string{"", "0", "-1", "1", "9223372036854775807", "-9223372036854775809", "1e400", "nan",
	"mine:1", "mine:new", "theirs:list", "theirs:", "*", "[^", "(1", "+inf",
	"MATCH", "COUNT", "LIMIT", "WITHSCORES", "NX", "XX", "GT", "KEEPTTL", "MSG", "EXPECT", "FROM", "KEEP", "PREFIX",
	"STREAMS", "LAST", "\x00\xff\r\n", "1-1", "$", "MAXLEN", "~",
	"STEP", "IF", "REVISION", "ABSENT", "SEQ", "TURN.POP", "TURN.RENAME", "TURNS"}

// fuzzedRequest takes what it needs from the input, and returns the rest.
func fuzzedRequest(names []string, in []byte) (args []string, rest []byte) {
	next := func() int {
		if len(in) == 0 {
			return 0
		}
		b := in[0]
		in = in[1:]
		return int(b)
	}
	args = strings.Fields(names[next()%len(names)])
	for range next() % 8 {
		at, with := next(), next()
		arg := ""
		switch {
		case with < len(fuzzArguments):
			arg = fuzzArguments[with]
		case with < 128:
			n := min(with%32, len(in))
			arg, in = string(in[:n]), in[n:]
		default:
			arg = fmt.Sprint(int64(binary.LittleEndian.Uint64(append([]byte{byte(at), byte(with), byte(next()),
				byte(next())}, make([]byte, 4)...))))
		}
		if at%3 == 0 || len(args) == 1 {
			args = append(args, arg)
		} else {
			args[1+at%(len(args)-1)] = arg
		}
	}
	return args, in
}

func writeRequest(w io.Writer, args ...string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	w.Write(b.Bytes())
}
