// Package backup is the format of backups, and the folders that keep them.
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
// A backup is whole only with its last frame: what a crash or a full disk cut short is found, wherever
// the cut is. Writer, Reader and Verify hold a part or two in memory, whatever the size of a backup.
package backup
