// Package backup is the format of backups, and the repositories that keep them: folders, or other storages.
//
// A backup is the dump of a state (fsm.Machine.Dump), compressed in parts:
//
//	8 bytes  "TLBACKU" and the version byte, 1
//	frames   1 byte kind; 4 bytes length of the payload; 4 bytes length of what it holds, uncompressed;
//	         4 bytes CRC-32C; payload
//
// Numbers are little endian. The first frame, of kind D, holds the Description as JSON. Then come parts of
// the dump, of kind P, each a Zstandard frame of up to 1 MiB of it. The last one, of kind E, holds the Summary as
// JSON, and nothing follows it. The length of what a frame holds is that of the payload where that is
// not compressed. Each CRC continues the one before, beginning with that of the first 8 bytes, over kind,
// lengths and payload: so every byte counts, and a frame that is missing, doubled or moved is found. The Summary has
// the SHA-256 of the dump, which has checksums of its own; so do its blocks.
//
// An incremental backup (Increment) has version 2. Its state is in packs, in the folder "packs" beside it: its dump is
// taken apart into pairs, and these are cut into chunks, each known by its SHA-256. In place of parts it has frames of
// kind K, each with names and sizes of packs as JSON; then frames of kind C, each a Zstandard frame with places of
// chunks in the order of the dump: uvarints number of the pack, offset in it, length there, length of the pairs; 32
// bytes SHA-256 of the pairs. Length and SHA-256 in the Summary are those of the dump that the pairs make.
//
// A pack is
//
//	8 bytes  "TLCHUNK" and the version byte, 1
//	chunks   each a Zstandard frame of pairs (statedump.AppendPair)
//	index    for each chunk: uvarints length in the pack, length of the pairs; 32 bytes SHA-256 of the pairs
//	8 bytes  length of the index; CRC-32C of the index and that length
//
// The index is read only of packs that no backup names: an interrupted one has left them.
//
// A backup is whole only with its last frame: what a crash or a full disk cut short is found, wherever
// the cut is. Writer, Reader and Verify hold a part or two in memory, whatever the size
// of a backup; an Increment holds the list of chunks.
package backup
