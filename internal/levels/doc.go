// Package levels keeps from the log what not every member could apply: operations that need a higher level than the
// cluster's, and those that no state machine can take. It raises the level when all members can follow.
package levels
