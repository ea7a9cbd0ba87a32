package node

import (
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/config"
)

// A node that authenticates clients also authenticates nodes: without a credential for them, its
// port for nodes stays closed, and it says what to set.
func TestPortWithoutACredentialIsClosed(t *testing.T) {
	for what, c := range map[string]struct {
		set    func(*config.Config)
		closed string // empty: it is open
	}{
		"no client is asked": {func(*config.Config) {}, ""},
		"users":              {func(c *config.Config) { c.UsersFile = "users.yaml" }, "--cluster-secret-file"},
		"certificates of clients": {func(c *config.Config) {
			c.ClientTLS.Cert, c.ClientTLS.CA = "cert", "ca"
		}, "--cluster-secret-file"},
		"users, and a secret": {func(c *config.Config) {
			c.UsersFile, c.ClusterSecret.File = "users.yaml", "secret"
		}, ""},
		"users, and certificates of nodes": {func(c *config.Config) {
			c.UsersFile, c.NodeTLS.Cert = "users.yaml", "cert"
		}, ""},
		"no address": {func(c *config.Config) { c.Listen.Raft, c.ClusterSecret.File = "", "secret" },
			"without an address"},
	} {
		cfg := config.Default()
		c.set(&cfg)
		if why := closedPort(&cfg); (why == "") != (c.closed == "") || !strings.Contains(why, c.closed) {
			t.Errorf("%s: %q", what, why)
		}
	}
}
