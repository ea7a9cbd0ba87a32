package httpapi

// routes lists every endpoint. A path that begins with /v1/sessions also exists
// as /v1/ns/{ns}/sessions, and so do those that begin with /v1/hashes, and /v1/transactions.
func (s *Server) routes() []route {
	const (
		sessions = "/v1/sessions"
		session  = sessions + "/{key}"
		messages = session + "/messages"
	)
	read := []string{"last", "after", "before", "limit", "max_bytes", "max_tokens", "whole", "since", "until",
		"encoding", "consistency",
		"max_age_ms", "metadata"}
	list := []string{"prefix", labelParam, "cursor", "limit", "consistency", "max_age_ms"}
	metrics := aUser
	if s.cfg.OpenMetrics {
		metrics = anybody
	}
	return []route{
		{"POST", messages, nil, aWriter, s.postMessages},
		{"GET", messages, read, aReader, s.getMessages},
		{"GET", messages + "/stream", []string{"after", "incarnation", "encoding"}, aReader, s.getStream},
		{"POST", session + "/pop", []string{"encoding"}, aWriter, s.postPop},
		{"POST", session + "/trim", nil, aWriter, s.postTrim},
		{"POST", session + "/replace", nil, aWriter, s.postReplace},
		{"POST", session + "/edit", nil, aWriter, s.postEdit},
		{"POST", session + "/remove", nil, aWriter, s.postRemove},
		{"POST", session + "/clear", nil, aWriter, s.postClear},
		{"POST", session + "/fork", nil, aWriter, s.postFork},
		{"POST", session + "/rename", nil, aWriter, s.postRename},
		{"POST", session + "/expire", nil, aWriter, s.postExpire},
		{"POST", session + "/retain", nil, aWriter, s.postRetain},
		{"GET", session, []string{"consistency", "max_age_ms"}, aReader, s.getSession},
		{"PATCH", session, nil, aWriter, s.patchSession},
		{"DELETE", session, []string{"expect"}, aWriter, s.deleteSession},
		{"GET", sessions, list, aReader, s.getSessions},
		{"DELETE", sessions, []string{"prefix", "all"}, aWriter, s.deleteSessions},
		{"GET", "/v1/hashes/{key}", []string{"cursor", "limit", "encoding", "consistency", "max_age_ms"}, aReader,
			s.getHash},
		{"PATCH", "/v1/hashes/{key}", nil, aWriter, s.patchHash},
		{"POST", "/v1/transactions", []string{"encoding"}, aWriter, s.postTransaction},
		{"GET", "/v1/cluster", nil, aUser, s.getCluster},
		{"POST", "/v1/cluster/checksum", nil, anAdmin, s.postChecksum},
		{"POST", "/v1/cluster/transfer", nil, anAdmin, s.postTransfer},
		{"POST", "/v1/cluster/snapshot", nil, anAdmin, s.postSnapshot},
		{"GET", "/v1/cluster/backup", nil, anAdmin, s.getBackup},
		{"POST", "/v1/cluster/nodes", nil, anAdmin, s.postNode},
		{"POST", "/v1/cluster/promote", nil, anAdmin, s.postPromote},
		{"POST", "/v1/cluster/demote", nil, anAdmin, s.postDemote},
		{"DELETE", "/v1/cluster/nodes", []string{"id"}, anAdmin, s.deleteNode},
		{"GET", "/livez", nil, anybody, s.getLivez},
		{"GET", "/readyz", nil, anybody, s.getReadyz},
		{"GET", "/metrics", nil, metrics, s.getMetrics},
		{"GET", "/openapi.yaml", nil, anybody, s.getOpenAPI},
	}
}
