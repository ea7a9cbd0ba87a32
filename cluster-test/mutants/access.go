package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// accessMutants break users and certificates.
func accessMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "rights-remembered", About: "a Redis connection keeps the rights that its user had",
			Edits: []mutation.Edit{{Old: "\tif set == c.who.set {\n\t\treturn\n\t}\n\tc.who.set = set\n",
				New: "\tif set == c.who.set || c.who.user != nil {\n\t\treturn\n\t}\n\tc.who.set = set\n"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 12 * time.Second, Nemesis: "rights-lost", Workloads: "append",
				Secure: true, Shows: []string{"without the right"}, Runs: 3}}},
		{Name: "certificates-kept", About: "a node shows the certificate that it was started with",
			Edits: []mutation.Edit{{Old: "\terr := s.loadLocked()\n\tif err != nil {\n\t\ts.cfg",
				New: "\terr := error(nil)\n\tif err != nil {\n\t\ts.cfg"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 20 * time.Second, Nemesis: "renewed", Workloads: "append",
				Secure: true, Shows: []string{"answers as before"}, Runs: 3}}},
		{Name: "limits-compared-in-part", About: "a user whose channels have changed counts as the same user",
			Edits:    []mutation.Edit{{Old: "slices.Equal(u.Channels, v.Channels)", New: "true"}},
			Catchers: []mutation.Catcher{{Test: "TestSameUser", Runs: 1}}},
		{Name: "proof-of-another-user", About: "a client with the password of another user may become that user",
			Edits:    []mutation.Edit{{In: "(*Users).digest", Old: "m.Write([]byte(name))", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestProofsAreSharedByName", Runs: 1}, {Test: "TestDigestsDiffer", Runs: 1}}},
		{Name: "limit-not-written", About: "a user is added without the channels that limit it",
			Edits:    []mutation.Edit{{Old: "if u.Channels != nil {", New: "if u.Channels != nil && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestDraftKeepsLimits", Runs: 1}}},
		{Name: "limited-user-hears-all", About: "a user with some keys only receives the messages of every channel",
			Edits:    []mutation.Edit{{Old: "case u.Prefixes != nil: return false", New: "case false: return false"}},
			Catchers: []mutation.Catcher{{Test: "TestLimitedUserHearsNothing", Runs: 1}}},
		{Name: "none-is-a-right", About: "the right none is read from a users file",
			Edits:    []mutation.Edit{{Old: "i > int(None)", New: "i >= int(None)"}},
			Catchers: []mutation.Catcher{{Test: "TestParseRight", Runs: 1}}},
		{Name: "reload-forgets-proofs", About: "a users file with new users makes known ones wait behind a flood",
			Edits:    []mutation.Edit{{In: "(*Set).inherit", Old: "continue", New: "break"}},
			Catchers: []mutation.Catcher{{Test: "TestReloadKeepsEveryProof", Runs: 3}}},
		{Name: "wrong-waiter-removed", About: "a client that gives up takes another one out of the queue for a hash",
			Edits:    []mutation.Edit{{Old: "if l == w {", New: "if l != nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestQueueForgetsTheRightWaiter", Runs: 1}}},
		{Name: "hash-slot-lost", About: "a slot that is given to a client at the end of its wait is lost",
			Edits:    []mutation.Edit{{In: "(*queue).enter", Old: "return true\n\tdefault:", New: "return false\n\tdefault:"}},
			Catchers: []mutation.Catcher{{Test: "TestQueueLosesNoSlot", Runs: 3}}},
		{Name: "no-slot-for-hashes", About: "on one processor no password can be verified",
			Edits:    []mutation.Edit{{Old: "max(runtime.GOMAXPROCS(0)/2, 1)", New: "runtime.GOMAXPROCS(0)/2"}},
			Catchers: []mutation.Catcher{{Test: "TestHashSlots", Runs: 1}}},
		{Name: "unseen-user-told-apart", About: "the time of a refusal tells that a user exists and was never seen",
			Edits:    []mutation.Edit{{In: "(*seen).resembles", Old: "; ok {", New: "; ok || known == 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestUnseenSecretsLookLikeNone", Runs: 1}}},
		{Name: "failed-change-stays", About: "a change of the users file that fails stands in the way of later ones",
			Edits:    []mutation.Edit{{In: "(*Draft).Save", Old: "os.Remove(name)", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestFailedSaveLeavesNothing", Runs: 1}}},
	}
}
