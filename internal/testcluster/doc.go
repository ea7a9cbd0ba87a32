// Package testcluster runs turnlog as its users do: real processes of the built binary,
// real sockets, real files. Tests, benchmarks, the contract suite's own cluster and
// `turnlog dev` start their processes by it.
package testcluster
