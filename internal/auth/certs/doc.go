// Package certs keeps the certificates of a node: it reads them from files, and again when the files change, so that
// they can be renewed without a restart; what cannot be loaded is logged, and the certificate before stays in use. It
// also issues certificates, for tests and for `turnlog cert`. It does not know what they are used for.
package certs
