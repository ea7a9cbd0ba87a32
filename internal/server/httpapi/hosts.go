package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts are the names under which a server may be addressed.
//
// A web page can have its own name resolve to 127.0.0.1 once it is loaded (DNS
// rebinding). Its requests then come from the same origin, as far as a browser
// can tell, and may read what they are answered. They still carry the page's own
// name, which is how they are told from those of the server's users.
//
// An IP address cannot be rebound, so every address is allowed, as is localhost.
type Hosts struct {
	names map[string]bool // in lower case, without ports
}

// NewHosts returns the hosts with those names, of which each may carry a port.
// Empty names are passed over.
func NewHosts(names ...string) Hosts {
	h := Hosts{names: map[string]bool{"localhost": true}}
	for _, n := range names {
		if n = hostName(n); n != "" {
			h.names[n] = true
		}
	}
	return h
}

// Check returns why a request may not be served under the name that it gives.
// Over TLS every name is allowed: the client has held it against the certificate.
func (h Hosts) Check(r *http.Request) error {
	name := hostName(r.Host)
	if r.TLS != nil || name == "" || h.names[name] {
		return nil // only clients older than HTTP/1.1, which no browser is, give no name
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	return fmt.Errorf("%.100q is not a name of this node: a web page may have given it. "+
		"If it is a name of this node, add it to --http-hosts", r.Host)
}

// hostName returns the host of HOST or HOST:PORT, in lower case.
func hostName(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	return strings.ToLower(strings.TrimSuffix(s, "."))
}
