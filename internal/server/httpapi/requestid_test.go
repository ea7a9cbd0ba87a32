package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/turn"
)

// An answer, be it an error or a tail, has the request's id: the client's, the trace's, or a new one each time.
func TestAnswersHaveTheRequestsID(t *testing.T) {
	d := startServer(t)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	parent := "Traceparent: 00-" + trace + "-b7ad6b7169203331-01"
	for name, x := range map[string]struct {
		headers []string
		want    string // "": a new one
	}{
		"none":                {},
		"its own":             {[]string{"X-Request-ID: a/b;1"}, "a/b;1"},
		"as long as it may":   {[]string{"X-Request-Id: " + strings.Repeat("x", 128)}, strings.Repeat("x", 128)},
		"too long":            {[]string{"X-Request-Id: " + strings.Repeat("x", 129)}, ""},
		"with a space":        {[]string{"X-Request-Id: a b"}, ""},
		"not ASCII":           {[]string{"X-Request-Id: ä"}, ""},
		"empty":               {[]string{"X-Request-Id: "}, ""},
		"a trace":             {[]string{parent}, trace},
		"both":                {[]string{"X-Request-Id: a", parent}, "a"},
		"a bad one, a trace":  {[]string{"X-Request-Id: a b", parent}, trace},
		"a later version":     {[]string{strings.Replace(parent, " 00-", " 01-", 1) + "-what"}, trace},
		"version 00, longer":  {[]string{parent + "-what"}, ""},
		"version ff":          {[]string{strings.Replace(parent, " 00-", " ff-", 1)}, ""},
		"a trace of zeros":    {[]string{"Traceparent: 00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"}, ""},
		"a parent of zeros":   {[]string{"Traceparent: 00-" + trace + "-0000000000000000-01"}, ""},
		"upper case":          {[]string{"Traceparent: 00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01"}, ""},
		"a trace that is cut": {[]string{parent[:40]}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/livez", "/v1/sessions/none", "/no/such/path", "/v1/cluster?no=1"} {
				got := d.do("GET", path, "", x.headers...).header["X-Request-Id"]
				if len(got) != 1 || x.want != "" && got[0] != x.want ||
					x.want == "" && !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(got[0]) {
					t.Errorf("%s has the id %q", path, got)
				}
			}
		})
	}
	if one, other := d.do("GET", "/livez", ""), d.do("GET", "/livez", ""); one.header.Get("X-Request-Id") ==
		other.header.Get("X-Request-Id") {
		t.Error("two requests have one id")
	}
	d.append("a", "1")
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+d.addr+"/v1/sessions/a/messages/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", "of-tail")
	res, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("X-Request-Id"); got != "of-tail" {
		t.Errorf("a tail has the id %q", got)
	}
}

// panics answers queries with a defect.
type panics struct{ Engine }

func (panics) Query(context.Context, turn.Query, turn.Consistency) (turn.Result, error) {
	panic("as it were")
}

// The lines of slow requests, and of defects, name the request by its id; one that is not taken does not get into
// the log.
func TestLogNamesRequestsByTheirID(t *testing.T) {
	lines := make(logtest.Lines, 16)
	logger := func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(lines, nil)) }
	long := strings.Repeat("long", 100)
	slow := startServer(t, logger, func(c *Config) {
		c.Engine, c.SlowRequest = hesitant{c.Engine}, 50*time.Millisecond
	})
	slow.do("GET", "/v1/sessions/chat", "", "X-Request-Id: r1")
	if line := <-lines; !strings.Contains(line, "a request was slow") || !strings.Contains(line, "request_id=r1") {
		t.Errorf("the log says %q", line)
	}
	defect := startServer(t, logger, func(c *Config) { c.Engine = panics{c.Engine} })
	defect.do("GET", "/v1/sessions/chat", "", "X-Request-Id: "+long)
	if line := <-lines; !strings.Contains(line, "endpoint panicked") || strings.Contains(line, long) ||
		!regexp.MustCompile(`request_id=[0-9a-f]{32} `).MatchString(line) {
		t.Errorf("the log says %q", line)
	}
}
