// Package blockfile keeps blobs in files that are only ever appended to. What it
// holds, and which of it still matters, is in an index that its user
// keeps in a transactional store: the index holds a Ref for each blob.
//
// It exists because a B+tree rewrites whole pages, neighbours included, for each
// value of a few kilobytes that changes; here a batch of blobs is one sequential
// write. (The division is that of WiscKey: Lu et al., FAST 2016.)
//
// A batch of blobs becomes part of the set in three steps: Append each, Sync all,
// then the index commits, with the references and the extents that Sync returned.
// Committed tells the Set that it did, Rollback that it did not. After a crash,
// Open is given the extents of the index, and forgets what lies beyond them.
//
// # Format
//
// A Set is a folder of files, named by their numbers: 0000000000000001.blk. Numbers
// rise and are not used again while the index knows them.
//
//	8 bytes   "TLBLOCK" and the version byte, 1
//	records, one after the other, each
//	  4 bytes   CRC-32C of the next 20 bytes
//	  4 bytes   length of the blob
//	  16 bytes  key of the blob in the index
//	  …         the blob
//
// Integers are little endian. The checksum guards the record's frame, so that
// files can be walked and a wrong reference is noticed; a blob guards itself.
package blockfile
