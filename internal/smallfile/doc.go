// Package smallfile replaces small files as a whole and durably, and keeps two copies of those
// that a node cannot do without, so that one flipped bit leaves one of them whole.
//
//	identity.json   identity-copy.json
//	snapshot.json   snapshot-copy.json
//
// The second copy is written first, so that after a crash it is the newer one. The first
// versions of turnlog know the first copy only: they read it, and leave a second copy behind
// that may be older.
package smallfile
