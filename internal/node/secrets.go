package node

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/auth/certs"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/peer"
)

// secrets holds what a node read from its files of users, certificates and secrets. A
// nil field is not configured.
type secrets struct {
	users     *auth.Users
	clients   *certs.Store
	nodes     *certs.Store
	nodeNames certs.NodeNames
	cluster   *peer.Secret
}

func openSecrets(cfg *config.Config, log *slog.Logger) (s secrets, err error) {
	if cfg.UsersFile != "" {
		if s.users, err = auth.Open(cfg.UsersFile, filepath.Join(cfg.DataDir, "seen-users"), log); err != nil {
			return s, err
		}
	}
	if cfg.ClientTLS.Cert != "" {
		files := certs.Files{Cert: cfg.ClientTLS.Cert, Key: cfg.ClientTLS.Key, CA: cfg.ClientTLS.CA}
		if s.clients, err = certs.Open(certs.Config{Files: files, Name: "listeners for clients",
			Logger: log}); err != nil {
			return s, err
		}
	}
	if cfg.NodeTLS.Cert != "" {
		files := certs.Files{Cert: cfg.NodeTLS.Cert, Key: cfg.NodeTLS.Key, CA: cfg.NodeTLS.CA}
		if s.nodes, err = certs.Open(certs.Config{Files: files, Name: "node to node", Logger: log}); err != nil {
			return s, err
		}
	}
	if s.nodeNames, err = cfg.NodeNames(); err != nil {
		return s, err
	}
	if s.cluster, err = readClusterSecret(cfg); err == nil && s.cluster != nil && s.cluster.Optional {
		log.Warn("the cluster secret is optional: any program that reaches this node's port is accepted as a node; " +
			"remove --cluster-secret-optional once all nodes have the secret")
	}
	return s, err
}

// listener returns l, which may be nil, with TLS, if clients are to use it.
func (s secrets) listener(l net.Listener) net.Listener {
	if s.clients == nil || l == nil {
		return l
	}
	return tls.NewListener(handshakes.Listener(l), s.clients.Server())
}

func (s secrets) clientTLS() *tls.Config {
	if s.clients == nil {
		return nil
	}
	return s.clients.Server()
}

func (s secrets) peerTLS() *peer.TLS {
	if s.nodes == nil {
		return nil
	}
	return &peer.TLS{Client: s.nodes.Client, Server: s.nodes.ServerForEqual(), Verify: s.nodeNames.Verify}
}

// noPort is why a node without an address for other nodes has nothing to do with them.
const noPort = "it was opened without an address for other nodes: give it one (turnlog.Peers.Addr), or run " +
	"`turnlog serve` on its directory"

// closedPort returns why the port for nodes is closed, or "" if it is not.
func closedPort(cfg *config.Config) string {
	if cfg.Listen.Raft == "" {
		return noPort
	}
	if !cfg.AsksClients() || cfg.NodeCredential() {
		return ""
	}
	return "it authenticates clients, and has no credential by which to recognise other nodes: set " +
		"--cluster-secret-file, or --node-tls-cert, --node-tls-key and --node-tls-ca, on every node"
}

// run reads the files again at each reload, until ctx ends. It calls changed after the
// users were read.
func (s secrets) run(ctx context.Context, reloads <-chan os.Signal, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-reloads:
			if s.reload() == nil {
				changed()
			}
		}
	}
}

// reload reads all files again. Errors are logged where they occur.
func (s secrets) reload() error {
	for _, store := range []*certs.Store{s.clients, s.nodes} {
		if store != nil {
			_ = store.Reload()
		}
	}
	if s.users == nil {
		return errors.New("there are no users")
	}
	return s.users.Reload()
}
