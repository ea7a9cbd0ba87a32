// Package migrate moves keys between Redis and turnlog, in either direction,
// and proves afterwards that they arrived.
//
// Both ends speak RESP, so both directions are the same copy from one Place to
// another. A Job first looks at what the target holds, then writes what is
// missing, each write conditional on nothing having changed since (WATCH). From
// that everything else follows:
//
//   - A job that was killed is simply run again. What arrived is recognised by
//     comparing it; a long value of which only a beginning arrived is continued.
//   - A write whose answer was lost is repeated without being stored twice: the
//     first one, should it still be in flight, no longer finds its condition.
//   - A key that holds something else at the target is left alone and reported,
//     unless Config.Replace is set.
//
// A small value is written in one transaction, with its deadline. A longer one goes
// over in pages, and can be seen incomplete meanwhile.
//
// Memory is bounded by the number of workers, not by the data, but for one digest
// per key (see ledger.go), which is what tells a key that changed at the source
// meanwhile from one that changed at the target.
package migrate
