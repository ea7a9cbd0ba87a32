package throttle

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSlow(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	about := func() []any { return []any{"key", "k"} }
	s, now := NewSlow(time.Second, log), time.Now()
	s.Note(now, time.Second-1, about)
	if out.Len() > 0 {
		t.Errorf("a quick request is logged: %s", &out)
	}
	for range 3 {
		s.Note(now, time.Second, about)
	}
	s.Note(now.Add(time.Second), 2*time.Second, about)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "key=k took=1s times=1") ||
		!strings.Contains(lines[1], "key=k took=2s times=3") {
		t.Errorf("logged %q", lines)
	}
	out.Reset()
	NewSlow(0, log).Note(now, time.Hour, about)
	if out.Len() > 0 {
		t.Errorf("logged without a limit: %s", &out)
	}
}

func TestExcerpt(t *testing.T) {
	if got := Excerpt("short"); got != "short" {
		t.Errorf("%q", got)
	}
	if got := Excerpt(strings.Repeat("k", 1000)); len(got) > 140 || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}
