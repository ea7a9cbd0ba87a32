// Package s3 is a storage of backups in a bucket of an object store that speaks Amazon's S3 protocol.
//
// An object is there with all of its bytes or not at all: larger ones are uploaded in parts, each with a CRC-32C that
// the store verifies, and come into being with the request that completes them. The store must answer reads and lists
// with what was written before, and support conditional writes (If-None-Match, If-Match), on which the lock
// rests; Amazon S3, MinIO, Cloudflare R2 and versitygw do. Lock finds a store that ignores them.
package s3
