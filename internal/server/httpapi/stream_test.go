package httpapi

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

const streamPath = "/v1/sessions/a/messages/stream"

func TestStreamSendsWhatIsThereAndWhatComes(t *testing.T) {
	d := startServer(t)
	d.append("a", "1", `{"two": "<2>"}`)
	all, later := d.tail(streamPath), d.tail(streamPath+"?after=1")
	resumed := d.tail(streamPath+"?after=7", "Last-Event-ID: 1")
	all.message(1, "1")
	for _, tl := range []*tail{all, later, resumed} {
		tl.message(2, `{"two": "<2>"}`)
	}
	d.append("b", "99") // somebody else's
	d.append("a", "3")
	for _, tl := range []*tail{all, later, resumed} {
		tl.message(3, "3")
	}
}

func TestStreamOfASessionToCome(t *testing.T) {
	d := startServer(t)
	tl := d.tail(streamPath)
	d.append("a", "1")
	tl.message(1, "1")
}

func TestStreamOfManyMessages(t *testing.T) {
	d := startServer(t)
	tl := d.tail(streamPath)
	const n = 5*streamMessages + 7
	go func() {
		for i := range n {
			d.append("a", fmt.Sprint(i+1))
		}
	}()
	for i := range n {
		tl.message(i+1, fmt.Sprint(i+1))
	}
}

// A payload of several lines stays what it is.
func TestStreamPayloadsByteForByte(t *testing.T) {
	d := startServer(t)
	d.append("a", "{\n  \"a\": [\n\t1,\n\n 2]\n}", "[1,\r\n2]", "\"\u2028\"")
	tl := d.tail(streamPath)
	tl.message(1, "{\n  \"a\": [\n\t1,\n\n 2]\n}")
	if e := tl.next(); !strings.Contains(e.data, `"data_base64":"WzEsDQoyXQ=="`) {
		t.Errorf("a payload with a carriage return: %+v", e)
	}
	tl.message(3, "\"\u2028\"")
	if e := d.tail(streamPath +
		"?encoding=base64&after=2").next(); !strings.Contains(e.data, `"data_base64":"IuKAqCI="`) {
		t.Errorf("with encoding=base64: %+v", e)
	}
}

func TestStreamTellsOfDeletion(t *testing.T) {
	d := startServer(t)
	d.append("a", "1", "2", "3")
	inc := d.ok("GET", "/v1/sessions/a", "")["incarnation"]
	tl := d.tail(streamPath)
	tl.message(1, "1")
	tl.message(2, "2")
	tl.message(3, "3")
	d.ok("DELETE", "/v1/sessions/a", "")
	if e := tl.next(); e.name != "reset" || e.id != "0" || e.data != `{"incarnation":0}` {
		t.Fatalf("after the deletion: %+v", e)
	}
	d.append("a", "10")
	if e, next := tl.next(), d.ok("GET", "/v1/sessions/a", "")["incarnation"]; e.name != "reset" || e.id != "0" ||
		e.data != fmt.Sprintf(`{"incarnation":%v}`, next) {
		t.Fatalf("as the next session %v begins: %+v", next, e)
	}
	tl.message(1, "10")

	// Deleted and made again, perhaps between two looks of the stream.
	d.ok("DELETE", "/v1/sessions/a", "")
	for i := range 5 {
		d.append("a", fmt.Sprint(20+i))
	}
	next := d.ok("GET", "/v1/sessions/a", "")["incarnation"]
	for data := `{"incarnation":0}`; data == `{"incarnation":0}`; { // it may see that there is none in between
		e := tl.next()
		if data = e.data; e.name != "reset" || data != `{"incarnation":0}` && data != fmt.Sprintf(`{"incarnation":%v}`, next) {
			t.Fatalf("after the second deletion: %+v", e)
		}
	}
	tl.message(1, "20")

	// A client that comes back.
	for _, path := range []string{streamPath + "?after=50", fmt.Sprintf("%s?after=2&incarnation=%v", streamPath, inc)} {
		back := d.tail(path)
		if e := back.next(); e.name != "reset" || e.id != "0" {
			t.Fatalf("%s: %+v", path, e)
		}
		back.message(1, "20")
	}
	now := d.ok("GET", "/v1/sessions/a", "")["incarnation"]
	d.tail(fmt.Sprintf("%s?after=2&incarnation=%v", streamPath, now)).message(3, "22")
}

// A client that read that there was no session yet, and passes that on, as to the first read of a new conversation,
// learns of each session of the key.
func TestStreamOfASessionThatDidNotExist(t *testing.T) {
	d := startServer(t)
	const none = streamPath + "?incarnation=0"
	tl := d.tail(none)
	d.append("a", "1", "2", "3")
	first := d.ok("GET", "/v1/sessions/a", "")["incarnation"]
	if e := tl.next(); e.name != "reset" || e.data != fmt.Sprintf(`{"incarnation":%v}`, first) {
		t.Fatalf("as the session begins: %+v", e)
	}
	tl.message(1, "1")
	tl.message(2, "2")
	tl.message(3, "3")

	d.ok("DELETE", "/v1/sessions/a", "")
	d.append("a", "10", "11", "12", "13")
	second := d.ok("GET", "/v1/sessions/a", "")["incarnation"]
	for _, back := range []*tail{
		d.tail(none, "Last-Event-ID: 3"),
		d.tail(none + "&after=3"),
		d.tail(none),
		d.tail(fmt.Sprintf("%s?incarnation=%v", streamPath, first), "Last-Event-ID: 3"),
	} {
		if e := back.next(); e.name != "reset" || e.id != "0" || e.data != fmt.Sprintf(`{"incarnation":%v}`, second) {
			t.Fatalf("back at another session: %+v", e)
		}
		back.message(1, "10")
	}
	d.tail(fmt.Sprintf("%s?incarnation=%v", streamPath, second), "Last-Event-ID: 3").message(4, "13")
}

// A stream knows whose messages it has sent, and that there was no session, also if the client named no incarnation.
func TestStreamWithoutAnIncarnationTellsOfTheNextSession(t *testing.T) {
	d := startServer(t)
	incarnation := func() any { return d.ok("GET", "/v1/sessions/a", "")["incarnation"] }
	reset := func(tl *tail, incarnation any) {
		t.Helper()
		if e := tl.next(); e.name != "reset" || e.data != fmt.Sprintf(`{"incarnation":%v}`, incarnation) {
			t.Fatalf("%+v, want the reset of incarnation %v", e, incarnation)
		}
	}
	tl := d.tail(streamPath + "?after=5") // there is no such session any more
	reset(tl, 0)
	d.append("a", "1")
	reset(tl, incarnation())
	tl.message(1, "1")

	tl = d.tail(streamPath)
	tl.message(1, "1")
	// At once, so that no look finds that there is none, or that it has fewer messages.
	d.ok("POST", "/v1/transactions",
		`{"steps":[{"delete":{"key":"a"}},{"append":{"key":"a","messages":[{"data":10},{"data":11}]}}]}`)
	reset(tl, incarnation())
	tl.message(1, "10")
	tl.message(2, "11")
}

// A stream that names no incarnation says nothing of a session that begins.
func TestStreamWithoutAnIncarnationBeginsQuietly(t *testing.T) {
	d := startServer(t)
	tl := d.tail(streamPath)
	d.append("a", "1")
	tl.message(1, "1")
}

func TestStreamTellsOfExpiry(t *testing.T) {
	d := startServer(t)
	d.append("a", "1")
	tl := d.tail(streamPath)
	tl.message(1, "1")
	d.ok("POST", "/v1/sessions/a/expire", `{"ttl_ms":1000}`)
	d.node.pass(2 * time.Second)
	d.append("b", "2") // time passes with a log entry
	if e := tl.next(); e.name != "reset" {
		t.Fatalf("after the expiry: %+v", e)
	}
}

// Trimmed messages are gone, and the numbering goes on.
func TestStreamAfterTrimAndClear(t *testing.T) {
	d := startServer(t)
	d.append("a", "1", "2", "3")
	d.ok("POST", "/v1/sessions/a/trim", `{"keep_last":1}`)
	tl := d.tail(streamPath)
	tl.message(3, "3")
	d.ok("POST", "/v1/sessions/a/clear", `{}`)
	d.append("a", "4")
	tl.message(4, "4")
}

func TestStreamHeartbeats(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Heartbeat = 5 * time.Millisecond })
	tl := d.tail(streamPath)
	for range 3 {
		if e := <-tl.events; !e.comment {
			t.Fatalf("event %+v, want a comment", e)
		}
	}
	eventually(t, "counted",
		func() bool { return strings.Contains(d.do("GET", "/metrics", "").body, "turnlog_http_streams 1\n") })
	tl.cancel()
	eventually(t, "ended", func() bool {
		return strings.Contains(d.do("GET", "/metrics", "").body,
			"turnlog_http_streams 0\n")
	})
}

func TestStreamErrors(t *testing.T) {
	d := startServer(t)
	d.fails(400, "INVALID", "GET", streamPath+"?after=x", "")
	d.fails(400, "INVALID", "GET", streamPath, "", "Last-Event-ID: x")
	d.fails(400, "INVALID", "GET", streamPath+"?last=5", "")
	d.append("a", "1")
	tl := d.tail(streamPath)
	tl.message(1, "1")
	failWith(&d.node.readFault, turn.Errorf(turn.Corrupt, "the block is damaged"))
	d.fails(500, "CORRUPT", "GET", streamPath, "")
	d.append("a", "2")
	last := tl.end()
	if last.name != "failure" || !strings.Contains(last.data, `"code":"CORRUPT"`) {
		t.Errorf("last event %+v", last)
	}
}

// laggard is a node that is behind: its linearizable reads are answered by the
// leader, the others by a state that follows when it is told to.
type laggard struct {
	*testNode
	own *testNode
	ops []turn.Op
}

func (l *laggard) Apply(ctx context.Context, op turn.Op) (turn.Result, error) {
	l.ops = append(l.ops, op)
	return l.testNode.Apply(ctx, op)
}

func (l *laggard) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if c.Level == turn.Linearizable {
		return l.testNode.Query(ctx, q, c)
	}
	return l.own.Query(ctx, q, c)
}

func (l *laggard) Watch(k turn.Key) (<-chan struct{}, func()) { return l.own.Watch(k) }

// follow applies the next n operations.
func (l *laggard) follow(t *testing.T, n int) {
	for _, op := range l.ops[:n] {
		if _, err := l.own.Apply(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	l.ops = l.ops[n:]
}

// While its node catches up with what the leader has shown, a stream neither
// takes the past for a deletion nor tells anything twice.
func TestStreamFromANodeThatLags(t *testing.T) {
	l := &laggard{own: newTestNode(t)}
	d := startServer(t, func(c *Config) {
		l.testNode = c.Engine.(*testNode)
		c.Engine = l
	})
	const n = 3*streamMessages + 1
	for i := range n {
		d.append("a", fmt.Sprint(i+1))
	}
	tl := d.tail(streamPath)
	for i := range n {
		tl.message(i+1, fmt.Sprint(i+1))
	}
	l.follow(t, 1)
	l.follow(t, n/2)
	l.follow(t, len(l.ops))
	d.append("a", "99")
	failWith(&d.node.readFault, turn.Errorf(turn.Unavailable, "no leader"))
	l.follow(t, 1)
	tl.message(n+1, "99")
}

func TestStreamsEndWhenTheServerStops(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Grace = time.Minute })
	d.append("a", "1")
	tl := d.tail(streamPath)
	tl.message(1, "1")
	began := time.Now()
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took >= time.Minute {
		t.Errorf("a stream went on for %v", took)
	}
	if last := tl.end(); !last.comment || !strings.Contains(last.data, "stopping") {
		t.Errorf("last event %+v", last)
	}
}

// A client that does not read is cut off, and holds no more than a page until then.
func TestStreamOfASlowReader(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Stall = 200 * time.Millisecond })
	payload := `"` + strings.Repeat("x", 1<<20) + `"`
	for range 32 {
		d.append("a", payload)
	}
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", streamPath)
	least := d.server.cfg.MemoryBytes
	eventually(t, "cut off", func() bool {
		left := d.server.memory.Left()
		least = min(least, left)
		return left == d.server.cfg.MemoryBytes && least < left
	})
	if held := d.server.cfg.MemoryBytes - least; held > 2<<20 {
		t.Errorf("the stream held %d bytes", held)
	}
	d.append("b", "1") // others are served
}
