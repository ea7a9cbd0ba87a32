package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
)

// NodeNames are names, by node id, that are in certificates of nodes instead of
// their ids. Those under "" are good for any node.
type NodeNames map[string][]string

// Verify returns an error unless cert, which is signed by the nodes' authority, is that
// of a node. An authority may sign for many others, so it must say whose it is: by its
// common name, a DNS name or a URI.
func (n NodeNames) Verify(cert *x509.Certificate, nodeID string) error {
	has := append([]string{cert.Subject.CommonName}, cert.DNSNames...)
	for _, u := range cert.URIs {
		has = append(has, u.String())
	}
	for _, name := range has {
		if name != "" && (name == nodeID || slices.Contains(n[nodeID], name) || slices.Contains(n[""], name)) {
			return nil
		}
	}
	return fmt.Errorf("the certificate of %q is not that of node %s: it names %s; issue one with the node's id as its "+
		"common name or a DNS name, "+
		"or allow a name with --node-tls-names on every node", cert.Subject, nodeID, strings.Join(has, ", "))
}
