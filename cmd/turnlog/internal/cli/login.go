package cli

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/internal/auth/certs"
)

// login is how a command shows the cluster who it is.
type login struct {
	User       string
	secretFile string
	useTLS     bool
	ca         string
	cert, key  string

	contextSecret string // kept in the context, of that user
	contextErr    error  // why the context cannot be used
}

func (l *login) Register(f *pflag.FlagSet, getenv func(string) string) {
	f.StringVar(&l.User, "user", getenv("TURNLOG_USER"),
		"user to authenticate as (TURNLOG_USER); the secret is in TURNLOG_SECRET or --secret-file")
	f.StringVar(&l.secretFile, "secret-file", getenv("TURNLOG_SECRET_FILE"),
		"file with the user's secret (TURNLOG_SECRET_FILE)")
	f.BoolVar(&l.useTLS, "tls", getenv("TURNLOG_TLS") == "1",
		"connect with TLS, trusting the system's certificate authorities (TURNLOG_TLS=1)")
	f.StringVar(&l.ca, "tls-ca", getenv("TURNLOG_TLS_CA"),
		"connect with TLS, trusting the authorities in this PEM file (TURNLOG_TLS_CA)")
	f.StringVar(&l.cert, "tls-cert", "", "PEM file of the client certificate, for nodes that require one")
	f.StringVar(&l.key, "tls-key", "", "PEM file of its key")
}

// Secret returns the secret; "" if there is none. The error may be that of the context.
func (l *login) Secret(getenv func(string) string) (string, error) {
	if l.contextErr != nil {
		return "", l.contextErr
	}
	secret := cmp.Or(l.contextSecret, getenv("TURNLOG_SECRET"))
	if l.secretFile != "" {
		text, err := os.ReadFile(l.secretFile)
		if err != nil {
			return "", usageError{err: err}
		}
		secret = strings.TrimRight(string(text), "\r\n")
	}
	if l.User != "" && secret == "" {
		return "", Usagef("user %s has no secret: set TURNLOG_SECRET, or give --secret-file", l.User)
	}
	return secret, nil
}

// TLS returns how to connect; nil: without TLS.
func (l *login) TLS() (*tls.Config, error) {
	if (l.cert == "") != (l.key == "") {
		return nil, Usagef("--tls-cert and --tls-key: give both or neither")
	}
	if !l.useTLS && l.ca == "" && l.cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.ca != "" {
		pool, err := certs.Pool(l.ca)
		if err != nil {
			return nil, usageError{err: err}
		}
		c.RootCAs = pool
	}
	if l.cert != "" {
		pair, err := tls.LoadX509KeyPair(l.cert, l.key)
		if err != nil {
			return nil, usageError{err: fmt.Errorf("--tls-cert %s, --tls-key %s: %w", l.cert, l.key, err)}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Send sends a request to a node's HTTP address, as that user.
func (a *App) Send(req *http.Request) (*http.Response, error) {
	secret, err := a.Login.Secret(a.Getenv)
	if err != nil {
		return nil, err
	}
	conf, err := a.Login.TLS()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // one request a command
	if conf != nil {
		req.URL.Scheme, transport.TLSClientConfig = "https", conf
	}
	if secret != "" {
		user := a.Login.User
		if user == "" {
			user = "default"
		}
		req.SetBasicAuth(user, secret)
	}
	client := &http.Client{Transport: transport}
	res, err := client.Do(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || secret != "" {
		return res, err
	}
	return a.sendLocally(client, req, res)
}
