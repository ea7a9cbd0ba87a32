// Adapters drives turnlog's own client and adapters in Go; test/compat/README.md has the protocol. Their client knows
// the one address that the other libraries have, too. It is a module of its own, for the sake of the frameworks.
package main

import (
	"net/url"
	"strings"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/test/compat/golang/driver"
)

func main() {
	driver.Main(map[string]driver.Library{
		"client for Go":      {Module: "github.com/turnlog/turnlog", Name: "turnlog", Open: openSessions},
		"sdk/go/langchaingo": {Module: "github.com/tmc/langchaingo", Name: "langchaingo", Open: openLangChainGo},
		"sdk/go/eino":        {Module: "github.com/cloudwego/eino", Name: "eino", Open: openEino},
		"sdk/go/genkit":      {Module: "github.com/firebase/genkit/go", Name: "genkit", Open: openGenkit},
	})
}

// connect returns the client of a URL such as redis://127.0.0.1:7379/1.
func connect(address string) (*client.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{Addrs: []string{u.Host}, Namespace: strings.TrimPrefix(u.Path, "/")})
}
