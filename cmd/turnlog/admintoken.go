package main

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/turn"
)

// sendLocally sends a request again that a node without users has refused, with
// the admin token of that node, if the node is one of this machine. If the node
// asked for none, the refusal is what is returned.
func (a *app) sendLocally(client *http.Client, req *http.Request, refused *http.Response) (*http.Response, error) {
	file := refused.Header.Get(admintoken.FileHeader)
	if file == "" {
		return refused, nil
	}
	refused.Body.Close()
	token, err := localToken(req, file)
	if err != nil {
		return nil, turn.Errorf(turn.Unauthorized, "administration takes the node's admin token: %v", err)
	}
	again := req.Clone(req.Context())
	again.Header.Set("Authorization", "Bearer "+token)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return client.Do(again)
}

func localToken(req *http.Request, file string) (string, error) {
	host := req.URL.Hostname()
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("%s may be another machine, and its token is not sent over the network: "+
			"run the command where the node listens on loopback, or configure users", req.URL.Host)
	}
	return admintoken.Read(file)
}
