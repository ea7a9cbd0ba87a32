// Package alerts tests the alert rules and the dashboard of deploy/prometheus: a real Prometheus scrapes real nodes, in
// which real faults are injected. Its tests run with `make alerts`.
package alerts
