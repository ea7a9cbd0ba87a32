// Package mutants is the list of turnlog's mutants, each of which breaks one promise: what is changed in the source,
// and the tests and scenarios that must notice. The list is checked against the source by a test, and MUTANTS.md is
// made of it.
package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// Families returns all mutants. MUTANTS.md shows how often each is caught.
func Families() []mutation.Family {
	return []mutation.Family{
		{About: "The log and what is synced", Mutants: logMutants()},
		{About: "What a node lost and still promised", Mutants: lossMutants()},
		{About: "Damage, and what checks for it", Mutants: damageMutants()},
		{About: "Repair, and states put in place of others", Mutants: repairMutants()},
		{About: "States that come from another node", Mutants: restoreMutants()},
		{About: "Backups, and clusters that begin with one", Mutants: backupMutants()},
		{About: "Disk space", Mutants: spaceMutants()},
		{About: "Gaps between elements", Mutants: gapsMutants()},
		{About: "What an entry may cost", Mutants: costMutants()},
		{About: "Ids of messages", Mutants: idsMutants()},
		{About: "Transactions that take place as a whole", Mutants: transactionMutants()},
		{About: "The state machine", Mutants: stateMutants()},
		{About: "Deadlines and the time", Mutants: timeMutants()},
		{About: "Consensus", Mutants: consensusMutants()},
		{About: "Order across a change of leader", Mutants: orderMutants()},
		{About: "Members that come and go", Mutants: joiningMutants()},
		{About: "Reads", Mutants: readsMutants()},
		{About: "An older copy of a node's data", Mutants: restoredMutants()},
		{About: "The port of the cluster", Mutants: portMutants()},
		{About: "Calls from node to node", Mutants: callsMutants()},
		{About: "Pipelines", Mutants: pipelineMutants()},
		{About: "Tails", Mutants: tailMutants()},
		{About: "Users and certificates", Mutants: accessMutants()},
		{About: "Unauthenticated clients", Mutants: unauthenticatedMutants()},
		{About: "Clients that block", Mutants: blockingMutants()},
		{About: "Channels", Mutants: publishMutants()},
		{About: "The window of ids", Mutants: windowMutants()},
		{About: "Members", Mutants: memberMutants()},
		{About: "What callers are told", Mutants: answersMutants()},
		{About: "The Go client", Mutants: clientMutants()},
		{About: "Commands of Redis", Mutants: redisMutants()},
		{About: "Calls in flight, and requests", Mutants: tableMutants()},
	}
}

// All returns the mutants of all families.
func All() []mutation.Mutant { return mutation.AllOf(Families()) }
