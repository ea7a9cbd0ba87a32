package alerts

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/testcluster"
)

// queries returns the queries of the dashboard.
func queries(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/turnlog.json")
	must(t, err)
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal(text, &dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			list = append(list, strings.ReplaceAll(target.Expr, "$job", "turnlog"))
		}
	}
	if len(list) < 10 {
		t.Fatalf("%d queries", len(list))
	}
	return list
}

// TestDashboard: each query of the dashboard finds something, in a Prometheus that scrapes a cluster. This one has
// neither certificates nor backups.
func TestDashboard(t *testing.T) {
	require(t, "prometheus")
	c := start(t, 3, func(*testcluster.Node) {})
	p := startPrometheus(t, "http", addrs(c)...)
	p.within("all are scraped", func() bool { return p.up() == 3 })
	for _, query := range queries(t) {
		if !strings.Contains(query, certificates) && !strings.Contains(query, backups) {
			p.within("there is data of "+query, func() bool { return p.finds(query) == 3 })
		}
	}
}

// Metrics that not every cluster has.
const certificates, backups = "turnlog_certificate_expiry_", "turnlog_backup_"

// shows waits until the dashboard's queries of a metric find something; there is at least one.
func (p *prometheus) shows(metric string) {
	p.t.Helper()
	found := false
	for _, query := range queries(p.t) {
		if strings.Contains(query, metric) {
			found = true
			p.within("there is data of "+query, func() bool { return p.finds(query) > 0 })
		}
	}
	if !found {
		p.t.Errorf("the dashboard has no query of %s", metric)
	}
}

// finds returns the number of series that a query finds; 0 if Prometheus does not take it.
func (p *prometheus) finds(query string) int {
	var answer struct{ Data struct{ Result []any } }
	if err := p.get("/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
		return 0
	}
	return len(answer.Data.Result)
}
