// Package auth authenticates and authorises users: it reads the users file, verifies
// passwords, and decides whether a user may use a namespace, a key or a channel.
//
// # The users file
//
// docs/securing.md describes it.
//
// The file is read when the node starts and by Reload. If it has an error, Reload
// leaves the users as they were.
//
// # Passwords
//
// They are stored as Argon2id hashes, which take tens of milliseconds and megabytes to
// verify. The first verification of a password is kept in memory as a keyed digest, for as
// long as the user has the password, so that later ones are cheap. Equal requests at the
// same time share one computation. All hashing takes place in at most two slots, and no
// request waits longer than five seconds for one. Slots go to addresses in turn, and to
// the names of an address in turn. A few bits of each verification are kept in a file
// across restarts, so that a user's password is checked before a flood of wrong ones. A
// flood can thus delay only users who have never authenticated at this node, and only if
// it comes from many addresses, or with many names from the users' own address.
package auth
