// Package pubsub has channels: who is subscribed to them, and what is published on them, at this node
// and through the bus at all others. Each Subscriber receives the messages that one goroutine publishes
// in that order, after the confirmation of its subscription and before that of its end.
package pubsub
