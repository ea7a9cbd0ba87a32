package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traceCollector takes spans by OTLP over HTTP.
type traceCollector struct {
	*httptest.Server
	took chan struct{} // a token after a request

	mu     sync.Mutex
	spans  []collected
	bodies strings.Builder // all that was received
}

// collected is a span with the node that made it.
type collected struct {
	*spans.Span
	node string
}

func startCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{took: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
			proto.Unmarshal(body, &m) != nil {
			t.Errorf("not a request of OTLP: %s %s %v", r.Method, r.URL, r.Header)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.take(&m, body)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *traceCollector) take(m *collector.ExportTraceServiceRequest, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies.Write(body)
	for _, of := range m.ResourceSpans {
		facts := map[string]string{}
		for _, a := range of.Resource.Attributes {
			facts[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, collected{s, facts["service.name"] + " " + facts["service.instance.id"]})
			}
		}
	}
	select {
	case c.took <- struct{}{}:
	default:
	}
}

// of returns the spans of a trace.
func (c *traceCollector) of(trace string) (list []collected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			list = append(list, s)
		}
	}
	return list
}

// wait waits until a trace has that many spans, and returns them as a tree: a line for each, behind that of its parent.
// If they do not come, it tells how many there are.
func (c *traceCollector) wait(trace string, n int) string {
	late := time.After(30 * time.Second)
	for {
		if list := c.of(trace); len(list) >= n {
			var lines strings.Builder
			tree(&lines, list, parentSpan, 0)
			return lines.String()
		}
		select {
		case <-c.took:
		case <-late:
			return fmt.Sprintf("%d of %d spans: %v", len(c.of(trace)), n, c.of(trace))
		}
	}
}

func tree(w io.Writer, all []collected, parent string, depth int) {
	var rest []collected
	for _, s := range all {
		if hex.EncodeToString(s.ParentSpanId) == parent {
			rest = append(rest, s)
		}
	}
	for len(rest) > 0 { // by their beginnings
		first := 0
		for i, s := range rest {
			if s.StartTimeUnixNano < rest[first].StartTimeUnixNano {
				first = i
			}
		}
		s := rest[first]
		rest = append(rest[:first], rest[first+1:]...)
		fmt.Fprintf(w, "%s%s @%s", strings.Repeat("  ", depth), s.Name, s.node)
		for _, a := range s.Attributes {
			switch a.Key {
			case "db.namespace", "error.type", "turnlog.outcome":
				fmt.Fprintf(w, " %s=%s", a.Key, a.Value.GetStringValue())
			case "turnlog.revision", "http.response.status_code":
				fmt.Fprintf(w, " %s=%d", a.Key, a.Value.GetIntValue())
			}
		}
		fmt.Fprintln(w)
		tree(w, all, hex.EncodeToString(s.SpanId), depth+1)
	}
}

const parentSpan = "b7ad6b7169203331"

// traceparent returns that of a client's span in a trace.
func traceparent(trace, flags string) string { return "00-" + trace + "-" + parentSpan + "-" + flags }

func (n *node) tracedPost(trace, flags, session, body string) int {
	n.shell.t.Helper()
	req, err := http.NewRequest("POST", "http://"+n.http+"/v1/sessions/"+session+"/messages", strings.NewReader(body))
	if err != nil {
		n.shell.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", traceparent(trace, flags))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.shell.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// redisCalls sends requests, each of words without spaces, on one connection, and returns the first lines of the
// replies.
func redisCalls(t *testing.T, addr string, requests ...string) (replies []string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for _, request := range requests {
		fmt.Fprintf(c, "%s\r\n", request)
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, strings.TrimSpace(line))
		if request == "EXEC" { // of one command
			if line, err = r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			replies = append(replies, strings.TrimSpace(line))
		}
	}
	return replies
}

// A request to a follower is one trace, from the span of its client to the state machine of the leader: by HTTP's
// traceparent, and by TURN.TRACE. Nothing in it tells the key or the payload, and what no client has sampled is not
// traced where the ratio is 0.
//
// All of it holds with one leader: with another, calls are sent again, and some may fail. On a machine that is busy
// with other things leadership may move, and then it is tried again.
func TestTracesGoAcrossNodes(t *testing.T) {
	t.Parallel()
	for range 5 {
		if wrong, moved := tracesAcrossNodes(t); !moved {
			if len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
			return
		}
	}
	t.Fatal("leadership moved each time: the test shows nothing")
}

// traceID returns the id of a test's n-th trace.
func traceID(n int) string { return fmt.Sprintf("%032x", 0xabc0+n) }

// tracesAcrossNodes returns what is wrong with the traces of some calls, and whether leadership moved meanwhile.
func tracesAcrossNodes(t *testing.T) (wrong []string, moved bool) {
	c := startCollector(t)
	settings := func(int) []string {
		return []string{"--otlp-endpoint", c.URL, "--otlp-sample-ratio", "0", "--election-timeout", "3s"}
	}
	nodes := startNodesWith(t, settings, t.TempDir(), t.TempDir(), t.TempDir())
	nodes[0].until("a node leads", nodes[0].knowsLeader)
	_, term := nodes[0].leadership()
	leader, followers := byRole(nodes)
	f, l := "turnlog "+followers[0].args[2], "turnlog "+leader.args[2]
	const key, payload = "confidential-key", "confidential-payload"
	id, note := traceID, func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	forwarded := func(first string) string {
		return first + "  turnlog.queue @" + f + "\n  turnlog.forward @" + f + "\n    turnlog.forwarded @" + l +
			" turnlog.revision=%d\n" + "      turnlog.queue @" + l + "\n      turnlog.commit @" + l +
			"\n      turnlog.apply @" + l + "\n"
	}

	body := `{"messages":[{"data":"` + payload + `"}]`
	followers[0].tracedPost(id(1), "01", key, body+"}")
	want := fmt.Sprintf(forwarded("POST /v1/sessions/{key}/messages @"+f+
		" turnlog.revision=1 http.response.status_code=200 db.namespace=0\n"), 1)
	if got := c.wait(id(1), 7); got != want {
		note("HTTP to a follower:\n%s\nwant\n%s", got, want)
	}

	leader.tracedPost(id(2), "01", key, body+`,"expect":7}`)
	want = "POST /v1/sessions/{key}/messages @" + l + " turnlog.outcome=not_applied " +
		"http.response.status_code=409 db.namespace=0 error.type=CONFLICT\n  turnlog.queue @" + l +
		"\n  turnlog.commit @" + l +
		"\n  turnlog.apply @" + l + "\n"
	if got := c.wait(id(2), 4); got != want {
		note("a conflict at the leader:\n%s\nwant\n%s", got, want)
	}

	followers[0].tracedPost(id(3), "00", key, body+"}")
	replies := redisCalls(t, followers[0].addr, "TURN.TRACE "+traceparent(id(4), "01"), "RPUSH "+key+"2 "+payload,
		"RPUSH "+key+"2 "+payload, "TURN.TRACE "+traceparent(id(5), "01"), "MULTI", "RPUSH "+key+"2 "+payload, "EXEC",
		"TURN.TRACE nonsense", "TURN.TRACE "+traceparent(id(6), "01"), "LRANGE "+key+"2 0 -1")
	if got := strings.Join(replies, " "); !strings.HasPrefix(got, "+OK :1 :2 +OK +OK +QUEUED *1 :3 -ERR") {
		note("replies %q", got)
	}
	want = fmt.Sprintf(forwarded("RPUSH @"+f+" db.namespace=0 turnlog.revision=3\n"), 3)
	if got := c.wait(id(4), 7); got != want {
		note("Redis to a follower:\n%s\nwant\n%s", got, want)
	}
	if got := c.wait(id(5), 7); !strings.HasPrefix(got, "EXEC @"+f) {
		note("a transaction:\n%s", got)
	}
	if got := c.wait(id(6), 2); !strings.HasPrefix(got, "LRANGE @"+f) ||
		!strings.Contains(got, "turnlog.read_index") {
		note("a read:\n%s", got)
	}
	_, last := followers[0].leadership()
	moved = last != term || term == 0
	for _, n := range nodes {
		n.stop(syscall.SIGTERM)
	}
	return append(wrong, c.others(key, payload)...), moved
}

// others returns which spans there are beside those that clients asked for, and which secrets are told.
func (c *traceCollector) others(secrets ...string) (wrong []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, secret := range append(secrets, "confidential") {
		if strings.Contains(c.bodies.String(), secret) {
			wrong = append(wrong, fmt.Sprintf("the spans tell %q", secret))
		}
	}
	for _, s := range c.spans {
		if trace := hex.EncodeToString(s.TraceId); trace == traceID(3) || !strings.HasPrefix(trace, traceID(0)[:28]) {
			wrong = append(wrong, fmt.Sprintf("a span that no client asked for: %v", s))
		}
	}
	return wrong
}

// The commands of docs/operations/tracing.md do what the page says.
func TestTracingPage(t *testing.T) {
	for _, tool := range []string{"curl", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the page uses " + tool)
		}
	}
	c := startCollector(t)
	ports := freePorts(t, 3)
	replaced := strings.NewReplacer("http://localhost:4318", c.URL, "127.0.0.1:7380", ports[1],
		"redis-cli -p 7379", "redis-cli -p "+strings.TrimPrefix(ports[0], "127.0.0.1:"),
		"turnlog serve ", "turnlog serve --resp-addr "+ports[0]+" --http-addr "+ports[1]+" --raft-addr "+ports[2]+" ")
	script := replaced.Replace(blocks(t, "../../docs/operations/tracing.md"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", "trap 'kill $nodes' EXIT\n"+script)
	cmd.Dir, cmd.WaitDelay = t.TempDir(), 10*time.Second
	cmd.Env = append(cleanEnv(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, string(out), `"last_seq":1`, "OK\n1\n", "turnlog_trace_spans_exported_total",
		"turnlog_trace_spans_dropped_total 0",
		"turnlog_trace_spans_failed_total 0")
	text := c.wait("0af7651916cd43dd8448eb211c80319c", 8)
	if !strings.Contains(text, "POST /v1/sessions/{key}/messages @turnlog n1") ||
		!strings.Contains(text, "RPUSH @turnlog n1") {
		t.Errorf("the trace is\n%s", text)
	}
}
