// Package contract tests whether a memory store for AI agents keeps what its users rely on: a saved
// turn is stored completely, once, in order, and in its own conversation, even if many clients write at
// once, connections break, replies are lost, and servers are killed.
//
// To test a store, write an adapter with four methods (see Store) and one test:
//
//	func TestContract(t *testing.T) {
//		contract.Run(t, func(ctx context.Context) (contract.Store, error) { return openMine(ctx) })
//	}
//
// Every case becomes a subtest, named gate/case. Optional interfaces and Claims declare further
// capabilities: expiry, trimming, conditional appends, ids. A case that needs a capability that the
// store lacks is "not supported", which is neither a pass nor a failure. A Suite has more settings:
// restarts, network faults, and copies of the program as further writers. Suite.Verify works without
// package testing.
//
// # Failures
//
// Messages are numbered by writer and turn, so a failure names those that were lost, duplicated,
// reordered, torn, damaged or foreign, and shows the calls around the first of them. The seed of a
// case determines its messages and its choices, but not the scheduling of goroutines and processes;
// cases with concurrency therefore accept every order.
//
// # Not covered
//
// The suite does not measure speed, does not simulate disks, and does not partition clusters. It
// uses a store only from outside.
package contract
