// A module of its own: Grafana's schema, which the dashboard in deploy/grafana is held to, is no dependency of turnlog.
module github.com/turnlog/turnlog/test/grafana

go 1.26.0

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
