package throttle

import (
	"log/slog"
	"time"
)

// Slow logs requests that took long, at most one a second. A nil *Slow logs none. Its methods may be
// called by any goroutine.
type Slow struct {
	limit    time.Duration
	log      *slog.Logger
	throttle Throttle
}

// NewSlow returns a Slow for requests that take at least limit; nil, which logs none, if that is 0.
func NewSlow(limit time.Duration, log *slog.Logger) *Slow {
	if limit <= 0 {
		return nil
	}
	return &Slow{limit: limit, log: log}
}

// Note is told that a request has ended at now, after so long. about says what it was, as arguments of
// slog; it is called only for what is logged. "times" in the log counts the slow ones since the line before.
func (s *Slow) Note(now time.Time, took time.Duration, about func() []any) {
	if s == nil || took < s.limit {
		return
	}
	if count, ok := s.throttle.Pass(now); ok {
		s.log.Warn("a request was slow", append(about(), "took", took, "times", count)...)
	}
}

// Excerpt is the beginning of a key, long enough to know it by.
func Excerpt(key string) string {
	const most = 128
	if len(key) <= most {
		return key
	}
	return key[:most] + "…"
}
