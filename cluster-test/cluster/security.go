package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/auth/certs"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Users of a secured cluster. The visitor's rights change while the cluster works.
const (
	Operator = "operator" // the harness itself
	Member   = "member"
	Visitor  = "visitor"
)

// Security holds the certificates and the users file of a secured cluster. Its methods may be called by any
// goroutine.
type Security struct {
	dir   string
	hosts map[string][]string // node id → names in its certificate
	proof map[string]password
	tls   *tls.Config // of clients

	mu    sync.Mutex
	right auth.Right // of the visitor; None: there is no such user
}

// password is what a user proves, and what the users file has of it.
type password struct{ plain, hash string }

const authorityName = "ca"

// newSecurity makes an authority and users in dir.
func newSecurity(dir string) (*Security, error) {
	s := &Security{dir: dir, hosts: map[string][]string{}, proof: map[string]password{}, right: auth.Write}
	if err := s.issue(certs.Request{Name: authorityName, Kind: certs.Authority}); err != nil {
		return nil, err
	}
	pool, err := certs.Pool(s.path(authorityName + ".crt"))
	if err != nil {
		return nil, err
	}
	s.tls = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
	draft, err := auth.Edit(s.usersFile())
	if err != nil {
		return nil, err
	}
	for name, right := range map[string]auth.Right{Operator: auth.Admin, Member: auth.Write, Visitor: auth.Write} {
		plain := auth.NewPassword()
		hash, err := auth.HashPassword(plain, rand.Reader)
		if err != nil {
			return nil, err
		}
		s.proof[name] = password{plain, hash}
		if err := draft.Add(user(name, right), hash); err != nil {
			return nil, err
		}
	}
	return s, draft.Save()
}

func user(name string, right auth.Right) auth.User {
	return auth.User{Name: name, Right: right, Namespaces: []string{"*"}}
}

func (s *Security) path(name string) string { return filepath.Join(s.dir, name) }
func (s *Security) usersFile() string       { return s.path("users.yaml") }

// WriteAsBefore lets nodes of the version before read the users file: it calls passwords secrets, and newer nodes
// read both words. Changes keep the word. It is to be called before nodes start.
func (s *Security) WriteAsBefore() error {
	text, err := os.ReadFile(s.usersFile())
	if err != nil {
		return err
	}
	return os.WriteFile(s.usersFile(), bytes.ReplaceAll(text, []byte("passwords:"), []byte("secrets:")), 0o600)
}

// issue makes a certificate that is good whatever a node's clock shows.
func (s *Security) issue(r certs.Request) error {
	r.Dir, r.CA, r.Force = s.dir, authorityName, true
	r.From, r.For = time.Now().AddDate(-10, 0, 0), 20*365*24*time.Hour
	return certs.Issue(r)
}

// flags makes a certificate for a node that clients call by these names, and returns the
// flags with which it is started.
func (s *Security) flags(id string, hosts []string) ([]string, error) {
	s.hosts[id] = hosts
	cert, key := s.path(id+".crt"), s.path(id+".key")
	return []string{"--users-file", s.usersFile(), "--tls-cert", cert, "--tls-key", key,
		"--node-tls-cert", cert, "--node-tls-key", key, "--node-tls-ca", s.path(authorityName + ".crt")}, s.Renew(id)
}

// Renew replaces the certificate file of a node, without telling the node to read it.
func (s *Security) Renew(id string) error {
	return s.issue(certs.Request{Name: id, Kind: certs.Node, Hosts: s.hosts[id]})
}

// SetVisitor changes the visitor's right in the users file, without telling the nodes to read it. auth.None
// removes the user.
func (s *Security) SetVisitor(right auth.Right) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	draft, err := auth.Edit(s.usersFile())
	if err != nil {
		return err
	}
	if s.right != auth.None {
		if err := draft.Remove(Visitor); err != nil {
			return err
		}
	}
	if right != auth.None {
		if err := draft.Add(user(Visitor, right), s.proof[Visitor].hash); err != nil {
			return err
		}
	}
	if err := draft.Save(); err != nil {
		return err
	}
	s.right = right
	return nil
}

// entry is how a user gets in. A nil Security asks for nothing.
func (s *Security) entry(user string) testcluster.Entry {
	if s == nil {
		return testcluster.Entry{}
	}
	return testcluster.Entry{User: user, Password: s.proof[user].plain, TLS: s.tls}
}

// Entry returns what a user needs to connect to the nodes.
func (c *Cluster) Entry(user string) testcluster.Entry { return c.Security.entry(user) }

// askTime is how long the harness waits for an answer about rights.
const askTime = 2 * time.Second

// MayVisitorWrite asks a node, not through the proxies, whether the visitor may write.
func (n *Node) MayVisitorWrite(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := n.Request(ctx, http.MethodPost, "/v1/ns/tester/sessions/none/clear", strings.NewReader("{}"))
	if err != nil {
		return false, err
	}
	e := n.security.entry(Visitor)
	req.SetBasicAuth(e.User, e.Password)
	resp, err := n.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return false, nil
	case http.StatusOK, http.StatusNotFound: // there is nothing to clear
		return true, nil
	}
	return false, fmt.Errorf("%s was asked for the visitor's rights: %s", n.ID, resp.Status)
}

// Certificate returns the contents of the certificate file of a node.
func (s *Security) Certificate(id string) ([]byte, error) { return os.ReadFile(s.path(id + ".crt")) }

// Certificate returns the certificate that the node shows to clients.
func (n *Node) Certificate(ctx context.Context) ([]byte, error) {
	d := tls.Dialer{Config: n.security.tls}
	c, err := d.DialContext(ctx, "tcp", n.HTTPAddr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, nil
}
