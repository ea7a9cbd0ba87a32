package redis

import (
	"context"
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/internal/throttle"
)

// endings are the reasons for closing connections that clients can give as often as
// they like, strangers included; so each of them is logged once a second at most.
type endings struct {
	paused, http, unread, unheard ending
}

type ending struct{ throttle throttle.Throttle }

// log says that a connection is closed, which is one that reason describes.
func (e *ending) log(w *wire, level slog.Level, reason string, attrs ...any) {
	count, ok := e.throttle.Pass(time.Now())
	if !ok {
		return
	}
	w.srv.log.Log(context.Background(), level, "redis: closing connection "+reason,
		append(attrs, "client", w.nc.RemoteAddr(), "times", count)...)
}
