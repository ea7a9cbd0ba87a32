package layout

var (
	BucketMeta       = []byte("meta")       // "state" → meta, "tags" → tag windows
	BucketHeads      = []byte("heads")      // joined key → head
	BucketBlocks     = []byte("blocks")     // incarnation, seq → block
	BucketDue        = []byte("due")        // DueKey → nothing
	BucketTombstones = []byte("tombstones") // TombstoneKey → last, deadline
	BucketGarbage    = []byte("garbage")    // deadline, incarnation → what to remove then
	BucketNamespaces = []byte("namespaces") // namespace → keys that Redis sees, revision
	BucketElements   = []byte("elements")   // ElementKey → sealed value
	// Not in dumps:
	BucketFiles = []byte("files") // number of a block file → its use
	BucketSums  = []byte("sums")  // "files" → seal of all pairs of BucketFiles

	KeyState = []byte("state")
	KeyTags  = []byte("tags")
	KeyFiles = []byte("files")
)

// Buckets lists all of them, in the order of a dump. Their place in it is their
// number in the dump format; it grows at its end only.
func Buckets() [][]byte {
	return [][]byte{BucketMeta, BucketHeads, BucketBlocks, BucketDue, BucketTombstones, BucketGarbage, BucketNamespaces,
		BucketElements}
}
