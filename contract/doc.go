// Package contract holds a memory store for AI agents to what its users take for
// granted: a turn that was saved is there, whole, once, in order, in its own
// conversation, also when many write at once, connections break, replies are lost
// and servers are killed.
//
// The owner of a store writes an adapter with four methods (see Store) and one
// test:
//
//	func TestContract(t *testing.T) {
//		contract.Run(t, func(ctx context.Context) (contract.Store, error) { return openMine(ctx) })
//	}
//
// Every case becomes a subtest, named gate/case. Further abilities (expiry,
// trimming, conditional appends, ids) are optional interfaces and Claims: a case
// that needs one which the store lacks is "not supported", which is neither a
// pass nor a failure. A Suite has more settings: restarts, faults on the network,
// copies of the program as further writers. Suite.Verify runs outside of tests.
//
// # Evidence
//
// Messages are numbered by writer and turn, so that a failure names those that
// were lost, doubled, reordered, torn, damaged, or come from elsewhere, and shows
// what else happened around the first of them. The seed of a case repeats its messages
// and its choices; the scheduling of goroutines and processes
// it cannot repeat, which is why those cases leave room for every order.
//
// # Omissions
//
// The suite does not measure speed, does not simulate disks, and does not
// partition clusters from inside. It knows a store only from outside.
package contract
