package httpapi

import (
	_ "embed"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type livezReply struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

func (s *Server) getLivez(*call) (any, error) {
	return livezReply{"ok", s.cfg.Version}, nil
}

type readyzReply struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"`
}

func (s *Server) getReadyz(c *call) (any, error) {
	ok, reasons := s.cfg.Engine.Ready()
	if !ok {
		c.out.code = http.StatusServiceUnavailable
	}
	if reasons == nil {
		reasons = []string{}
	}
	return readyzReply{ok, reasons}, nil
}

func (s *Server) getMetrics(c *call) (any, error) {
	promhttp.HandlerFor(s.cfg.Registry, promhttp.HandlerOpts{}).ServeHTTP(c.out.w, c.request)
	return written{}, nil
}

//go:embed openapi.yaml
var openapi []byte

type document struct {
	contentType string
	text        []byte
}

func (d document) write(o *output) {
	o.w.Header().Set("Content-Type", d.contentType)
	o.raw(d.text)
}

func (s *Server) getOpenAPI(*call) (any, error) {
	return document{"application/yaml", openapi}, nil
}
