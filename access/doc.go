// Package access says who may do what: it keeps the users of a users file, proves
// their secrets, and answers whether one of them may touch a key.
//
// # The users file
//
// A YAML document; what is unknown in it is an error:
//
//	version: 1
//	users:
//	  - name: support-bot
//	    secrets:                 # one, or several while they are changed; see HashSecret
//	      - $argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA
//	    right: write             # read; write, which includes it; admin, which includes both
//	    namespaces: ["0", "eu"]  # "*": every one; []: none
//	    prefixes: ["chat:"]      # only keys that begin so; left out: every key
//	    channels: ["chat:"]      # only channels of the namespaces that begin so (the databases
//	                             # 0 to 15 share theirs: one of them is enough); left out: none
//	                             # if prefixes are given, else those of the namespaces (all of
//	                             # the databases 0 to 15 are needed)
//
// The file is read when the node starts and on Reload. What is wrong in it then
// leaves the users as they were.
//
// # Secrets
//
// They are kept as Argon2id hashes, which take tens of milliseconds and megabytes
// to check. The first proof of a secret is remembered for as long as the user has
// it, as a keyed digest, so that later ones are cheap; the same secret presented
// many times at once is computed once; and all computing takes place in a few
// slots, for which nobody waits long. Addresses take turns at these, and the names
// that one address shows do. Over restarts a few bits of each proof are kept in a
// file, which let a user's secret go before a flood of wrong ones. Strangers can thus
// delay users who have never authenticated at this node, if they send from as many
// addresses, or as many names from the users' own address.
package access
