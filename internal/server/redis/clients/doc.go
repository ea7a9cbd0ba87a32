// Package clients has what connections show of themselves to others: the lines of CLIENT LIST, which look as Redis's
// do, and the filters of CLIENT LIST and CLIENT KILL. It knows neither connections nor sockets. Any goroutine may use a
// Client.
package clients
