// Package blocked has the request that blocks its connection, as others see it: whether it waits, and
// how its wait is ended. It knows neither the connection nor what the request waits for.
package blocked
