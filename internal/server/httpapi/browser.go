package httpapi

import (
	"mime"
	"net/http"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// What browsers may do here: pages of other origins nothing, unless the origin is
// one of Config.Origins.

// guard refuses what a web page may have a browser send.
func (c *call) guard() error {
	if err := c.server.hosts.Check(c.request); err != nil {
		return turn.Errorf(turn.Forbidden, "host %v", err)
	}
	if err := c.server.origins.Check(c.request); err != nil {
		return turn.Errorf(turn.Forbidden, "%v", err)
	}
	return nil
}

// checkType refuses a body that a page can send to any server without asking that
// server first: as text, or as a form. A client that is no browser may leave its
// body undeclared, or declared as a form, as curl -d does.
func checkType(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(given)
	switch {
	case err == nil && kind == "application/json":
		return nil
	case given == "" || kind == "application/x-www-form-urlencoded":
		if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
			return nil
		}
	}
	return turn.Errorf(turn.Invalid, "Content-Type: is %.64q, must be application/json", given)
}

// allowOrigin lets a page of a configured origin read the answer. It reports
// whether the request only asked for leave to send another (a CORS preflight),
// which it has answered then.
func (s *Server) allowOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.cfg.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.cfg.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", requestIDHeader)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" ||
		s.hosts.Check(r) != nil {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, "+namespaceHeader+
		", "+requestIDHeader+", "+traceHeader)
	h.Set("Access-Control-Max-Age", "600")
	leaveBody(w, r)
	w.WriteHeader(http.StatusNoContent)
	return true
}
