package redis

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

var update = flag.Bool("update", false, "rewrite the replies in testdata/*.txt")

// TestScripts plays the scripts in testdata. A line "> words" is a request, in
// the words of an inline command; the next line is its reply in short form, where
// … stands for any text. "resp3" changes the protocol, "connect" opens a new
// connection, "raw "bytes"" sends bytes as they are and expects the reply, or
// "(closed)". Each script has a server and an engine of its own kind of limits.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	limits := turn.DefaultLimits()
	limits.MessageBytes, limits.AppendBytes, limits.AppendMessages = 1000, 3000, 10
	e := openEngine(t, limits)
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := open(t, Config{Engine: e, MaxRequestBytes: 8000})
			p := player{t: t, addr: s.addr(), namespace: "script-" + strconv.Itoa(i)}
			p.connect()
			p.play(file)
		})
	}
}

type player struct {
	t         *testing.T
	addr      string
	namespace string
	c         *client
}

func (p *player) connect() {
	p.c = dial(p.t, p.addr)
	p.c.do("TURN.NS", p.namespace)
}

func (p *player) play(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out = append(out, line)
		switch {
		case line == "resp3":
			p.c.do("HELLO", "3")
			continue
		case line == "connect":
			p.connect()
			continue
		case !strings.HasPrefix(line, "> ") && !strings.HasPrefix(line, "raw "):
			continue
		}
		got := p.step(line)
		want := ""
		if i+1 < len(lines) && lines[i+1] != "" {
			i++
			want = lines[i]
		}
		switch {
		case like(want, got):
			got = want
		case !*update:
			p.t.Errorf("%s:%d: %s\n got %s\nwant %s", file, i+1, line, got, want)
		}
		out = append(out, got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *player) step(line string) string {
	if raw, ok := strings.CutPrefix(line, "raw "); ok {
		bytes, err := strconv.Unquote(raw)
		if err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		return exchange(p.t, p.addr, bytes)
	}
	r := resp.NewRequestReader(strings.NewReader(line[2:]+"\n"), resp.Limits{})
	args, err := r.Next()
	if err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	words := make([]string, len(args))
	for i := range args {
		words[i] = string(args[i])
	}
	p.c.send(words...)
	p.c.w.Flush()
	v, err := p.c.r.Next()
	if err != nil {
		return "(closed)"
	}
	return show(v)
}

// exchange sends bytes over a connection of their own and returns all replies,
// and "(closed)" if the server ends the connection.
func exchange(t *testing.T, addr, in string) string {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.Write([]byte(in))
	var got []string
	nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	r := resp.NewReplyReader(nc, resp.Limits{})
	for {
		v, err := r.Next()
		switch {
		case err == nil && v.Text() == "end":
			return strings.Join(got, " ")
		case err != nil:
			return strings.Join(append(got, "(closed)"), " ")
		}
		got = append(got, show(v))
	}
}

// like reports whether got is want, in which … stands for any text.
func like(want, got string) bool {
	parts := strings.Split(want, "…")
	if len(parts) == 1 {
		return want == got
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(got, first) || !strings.HasSuffix(got[len(first):], last) {
		return false
	}
	rest := got[len(first) : len(got)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return false
		}
		rest = after
	}
	return true
}

// quote writes a string so that it fits a line of a script.
func quote(b []byte) string { return strconv.QuoteToASCII(string(b)) }
