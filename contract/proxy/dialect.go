package proxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
)

// Dialect is what the proxy knows about a protocol.
type Dialect interface {
	// Reader returns a function that reads the next request of a client. greeting:
	// it merely opens the connection, and meets no fault.
	Reader(*bufio.Reader) func() (request []byte, greeting bool, err error)
	// Answers lists the errors that Answer can make.
	Answers() []string
	// Answer returns that error as the server would send it. last: the server
	// would then close the connection.
	Answer(name string) (text []byte, last bool)
}

// RESP is the protocol of Redis.
type RESP struct{}

var respErrors = map[string]string{
	"OOM":      "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
	"LOADING":  "-LOADING Redis is loading the dataset in memory\r\n",
	"READONLY": "-READONLY You can't write against a read only replica.\r\n",
	"MISCONF":  "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.\r\n",
}

var respGreetings = []string{"HELLO", "AUTH", "CLIENT", "SELECT", "PING", "INFO", "COMMAND", "READONLY", "TURN.NS",
	"TURN.CLUSTER"}

func (RESP) Answers() []string { return []string{"OOM", "LOADING", "READONLY", "MISCONF"} }

func (RESP) Answer(name string) ([]byte, bool) { return []byte(respErrors[name]), false }

func (RESP) Reader(in *bufio.Reader) func() ([]byte, bool, error) {
	requests := resp.NewRequestReader(in, resp.Limits{})
	return func() ([]byte, bool, error) {
		args, err := requests.Next()
		if err != nil {
			return nil, false, err
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
		return b.Bytes(), slices.Contains(respGreetings, strings.ToUpper(string(args[0]))), nil
	}
}

// Turnlog is RESP with the errors of turnlog's nodes beside those of Redis.
type Turnlog struct{ RESP }

var turnlogErrors = map[string]string{
	"UNAVAILABLE":     "-UNAVAILABLE there is no leader\r\n",
	"OVERLOADED":      "-OVERLOADED a queue is full\r\n",
	"READ_ONLY":       "-READ_ONLY the disk is full\r\n",
	"UNKNOWN_OUTCOME": "-UNKNOWN_OUTCOME the leader changed\r\n",
}

func (Turnlog) Answers() []string {
	return []string{"UNAVAILABLE", "OVERLOADED", "READ_ONLY", "UNKNOWN_OUTCOME", "OOM", "LOADING"}
}

func (Turnlog) Answer(name string) ([]byte, bool) {
	if text, ok := turnlogErrors[name]; ok {
		return []byte(text), false
	}
	return RESP{}.Answer(name)
}

// HTTP is HTTP/1.1.
type HTTP struct{}

func (HTTP) Answers() []string { return []string{"500", "503", "507"} }

func (HTTP) Answer(name string) ([]byte, bool) {
	body := "the server cannot do that now"
	return fmt.Appendf(nil, "HTTP/1.1 %s Failed\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", name,
		len(body), body), false
}

func (HTTP) Reader(in *bufio.Reader) func() ([]byte, bool, error) {
	return func() ([]byte, bool, error) {
		r, err := http.ReadRequest(in)
		if err != nil {
			return nil, false, err
		}
		defer r.Body.Close()
		r.Header["Host"] = []string{r.Host}
		var head bytes.Buffer
		fmt.Fprintf(&head, "%s %s HTTP/1.1\r\n", r.Method, r.RequestURI)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, false, err
		}
		if len(body) > 0 {
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		}
		r.Header.Write(&head) // to memory
		head.WriteString("\r\n")
		return append(head.Bytes(), body...), false, nil
	}
}

// Postgres is the protocol of PostgreSQL, without TLS.
type Postgres struct{}

var postgresErrors = map[string]string{
	"53200": "out of memory",
	"57P01": "terminating connection due to administrator command",
	"57P03": "the database system is starting up",
}

func (Postgres) Answers() []string { return []string{"53200", "57P01", "57P03"} }

func (Postgres) Answer(name string) ([]byte, bool) {
	fields := "SFATAL\x00VFATAL\x00C" + name + "\x00M" + postgresErrors[name] + "\x00\x00"
	out := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(fields)))
	return append(out, fields...), true
}

// Reader takes what is sent up to a Query or a Sync for a request, since that is
// when the server answers.
func (Postgres) Reader(in *bufio.Reader) func() ([]byte, bool, error) {
	started := false
	return func() ([]byte, bool, error) {
		var out []byte
		for {
			var kind byte
			if started {
				b, err := in.ReadByte()
				if err != nil {
					return nil, false, err
				}
				kind, out = b, append(out, b)
			}
			var size [4]byte
			if _, err := io.ReadFull(in, size[:]); err != nil {
				return nil, false, err
			}
			n := binary.BigEndian.Uint32(size[:])
			if n < 4 || n > 1<<30 {
				return nil, false, fmt.Errorf("a message of %d bytes", n)
			}
			body := make([]byte, n-4)
			if _, err := io.ReadFull(in, body); err != nil {
				return nil, false, err
			}
			out = append(append(out, size[:]...), body...)
			switch {
			case !started:
				// A request for TLS, and then the start-up itself, bear no kind.
				started = len(body) < 4 || binary.BigEndian.Uint32(body) != 80877103
				return out, true, nil
			case kind == 'p', kind == 'X':
				return out, true, nil
			case kind == 'Q', kind == 'S', kind == 'H':
				return out, false, nil
			}
		}
	}
}

// Bytes is any protocol: whatever arrives at once is a request.
type Bytes struct{}

func (Bytes) Answers() []string { return nil }

func (Bytes) Answer(string) ([]byte, bool) { return nil, true }

func (Bytes) Reader(in *bufio.Reader) func() ([]byte, bool, error) {
	return func() ([]byte, bool, error) {
		if _, err := in.Peek(1); err != nil {
			return nil, false, err
		}
		out := make([]byte, in.Buffered())
		_, err := io.ReadFull(in, out)
		return out, false, err
	}
}
