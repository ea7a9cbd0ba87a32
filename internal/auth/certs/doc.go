// Package certs keeps the certificates of a node: it reads them from files, reads
// them again when the files change, and makes test ones. It knows nothing of what
// they are used for.
package certs
