package httpapi

// routes lists every endpoint. A path that begins with /v1/sessions also exists
// as /v1/ns/{ns}/sessions.
func (s *Server) routes() []route {
	const (
		sessions = "/v1/sessions"
		session  = sessions + "/{key}"
		messages = session + "/messages"
	)
	read := []string{"last", "after", "before", "limit", "max_bytes", "max_tokens", "encoding", "consistency", "max_age_ms"}
	list := []string{"prefix", "cursor", "limit", "consistency", "max_age_ms"}
	return []route{
		{"POST", messages, nil, s.postMessages},
		{"GET", messages, read, s.getMessages},
		{"GET", messages + "/stream", []string{"after", "incarnation", "encoding"}, s.getStream},
		{"POST", session + "/pop", []string{"encoding"}, s.postPop},
		{"POST", session + "/trim", nil, s.postTrim},
		{"POST", session + "/replace", nil, s.postReplace},
		{"POST", session + "/clear", nil, s.postClear},
		{"POST", session + "/fork", nil, s.postFork},
		{"POST", session + "/expire", nil, s.postExpire},
		{"GET", session, []string{"consistency", "max_age_ms"}, s.getSession},
		{"PATCH", session, nil, s.patchSession},
		{"DELETE", session, []string{"expect"}, s.deleteSession},
		{"GET", sessions, list, s.getSessions},
		{"DELETE", sessions, []string{"prefix", "all"}, s.deleteSessions},
		{"GET", "/v1/cluster", nil, s.getCluster},
		{"POST", "/v1/cluster/checksum", nil, s.postChecksum},
		{"POST", "/v1/cluster/transfer", nil, s.postTransfer},
		{"POST", "/v1/cluster/snapshot", nil, s.postSnapshot},
		{"POST", "/v1/cluster/nodes", nil, s.postNode},
		{"DELETE", "/v1/cluster/nodes", []string{"id"}, s.deleteNode},
		{"GET", "/livez", nil, s.getLivez},
		{"GET", "/readyz", nil, s.getReadyz},
		{"GET", "/metrics", nil, s.getMetrics},
		{"GET", "/openapi.yaml", nil, s.getOpenAPI},
	}
}
