package alerts

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/testcluster"
)

// dashboard is what a test needs of Grafana's format.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// TestDashboard: each query of the dashboard finds something, in a Prometheus that scrapes a cluster. Certificates
// have none here.
func TestDashboard(t *testing.T) {
	require(t, "prometheus")
	text, err := os.ReadFile("../../deploy/grafana/turnlog.json")
	must(t, err)
	var d dashboard
	must(t, json.Unmarshal(text, &d))
	if len(d.Panels) < 10 {
		t.Fatalf("%d panels", len(d.Panels))
	}
	c := start(t, 3, func(*testcluster.Node) {})
	p := startPrometheus(t, "http", addrs(c)...)
	p.within("all are scraped", func() bool { return p.up() == 3 })
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			expr := strings.ReplaceAll(target.Expr, "$job", "turnlog")
			if strings.Contains(expr, "turnlog_certificate_expiry") || strings.Contains(expr, "turnlog_backup_") {
				continue // TestNeglect and TestOldBackup have them
			}
			p.within("the panel "+panel.Title+" has data of "+expr, func() bool { return p.finds(expr) == 3 })
		}
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
