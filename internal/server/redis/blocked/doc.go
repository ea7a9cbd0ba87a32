// Package blocked is the request that blocks its connection, as BLPOP does, as other connections see it: CLIENT LIST
// shows that it waits, and CLIENT UNBLOCK ends its wait, but never after something was taken for it. It knows neither
// the connection nor what the request waits for. Any goroutine may use a Request.
package blocked
