// Package clients has what connections show of themselves to others: the lines of CLIENT LIST, and
// the filters that choose among them. It knows neither connections nor sockets.
package clients
