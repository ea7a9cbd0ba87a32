package nodes

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/turnlog/turnlog/internal/server/httpapi"
)

// servePprof shows the profiles of Go's runtime until ctx ends. They tell what
// the process does, and taking one costs it time: hence a listener of its own,
// on loopback, and only if asked for.
func servePprof(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	hosts := httpapi.NewHosts()
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := hosts.Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
	s := &http.Server{Handler: guarded, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	err := s.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
