// Package alerts holds the alert rules in deploy/prometheus against a real Prometheus that scrapes
// real nodes, in which real faults are injected: see its tests, which `make alerts` runs.
package alerts
