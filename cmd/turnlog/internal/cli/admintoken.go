package cli

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/turn"
)

// sendLocally sends a request again that a node without users has refused, with
// the admin token of that node, if the node is one of this machine. If the node
// asked for none, the refusal is what is returned.
//
// What has refused may be another program that listens where the node should. So
// the token goes to the address that its file names, and nowhere else.
func (a *App) sendLocally(client *http.Client, req *http.Request, refused *http.Response) (*http.Response, error) {
	file := refused.Header.Get(admintoken.FileHeader)
	if file == "" {
		return refused, nil
	}
	refused.Body.Close()
	token, at, err := localToken(req, file)
	if err != nil {
		return nil, turn.Errorf(turn.Unauthorized, "administration takes the node's admin token: %v", err)
	}
	again := req.Clone(req.Context())
	if again.URL.Scheme == "http" { // with TLS, the certificate has told who it is
		again.URL.Host = at.String()
	}
	again.Header.Set("Authorization", "Bearer "+token)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return client.Do(again)
}

// localToken returns the token in file, and where on this machine its node listens.
func localToken(req *http.Request, file string) (token string, at netip.AddrPort, err error) {
	host := req.URL.Hostname()
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", at, fmt.Errorf("%s may be another machine, and the admin token is never sent over the network: "+
			"run the command on the node's machine, or configure users", req.URL.Host)
	}
	if token, at, err = admintoken.Read(file); err != nil {
		return "", at, err
	}
	if at.Addr().IsUnspecified() { // it listens on loopback, too
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	if req.URL.Port() != strconv.Itoa(int(at.Port())) {
		return "", at, fmt.Errorf("the server on %s names the token file %s, which belongs to a node that "+
			"listens on %s", req.URL.Host, file, at)
	}
	return token, at, nil
}
