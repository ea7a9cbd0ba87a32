package testcluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/turnlog/turnlog/internal/admintoken"
)

// Entry is how a client gets into a node. The zero Entry is that of a cluster without
// users and certificates.
type Entry struct {
	User, Password string
	TLS            *tls.Config
}

const (
	callTimeout = 30 * time.Second // suits changes of membership; most callers set a shorter one
	glance      = 2 * time.Second  // for a node to tell about itself
)

// Request is one that an administrator makes to the node's own HTTP address.
func (n *Node) Request(ctx context.Context, method, path string, content io.Reader) (*http.Request, error) {
	scheme := "http://"
	if n.Operator.TLS != nil {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+n.HTTPAddr+path, content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if n.Operator.User == "" {
		admintoken.Authorize(req, n.Dir)
	} else {
		req.SetBasicAuth(n.Operator.User, n.Operator.Password)
	}
	return req, nil
}

// Do makes a request over a connection of its own.
func (n *Node) Do(req *http.Request) (*http.Response, error) {
	c := http.Client{Timeout: n.CallTimeout,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: n.Operator.TLS}}
	if c.Timeout == 0 {
		c.Timeout = callTimeout
	}
	return c.Do(req)
}

// Call asks the node's HTTP API as an administrator, with in as JSON unless that is nil,
// and decodes the answer into out, unless that is nil.
func (n *Node) Call(ctx context.Context, method, path string, in, out any) error {
	var content io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := n.Request(ctx, method, path, content)
	if err != nil {
		return err
	}
	resp, err := n.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s %s: %s: %s", n.ID, method, path, resp.Status, bytes.TrimSpace(body))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s %s: %w in %s", n.ID, method, path, err, body)
	}
	return nil
}
