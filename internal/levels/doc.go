// Package levels keeps operations out of the log that not every member could apply: those that need a higher level than
// the cluster's, and those that no state machine accepts. On the leader, it raises the level when all members support
// the next one.
//
// The level never falls, and what a node has applied of it is never above the cluster's. So a node that rejects by the
// level that it has applied rejects too much at worst, for a moment. Any goroutine may use Levels.
package levels
