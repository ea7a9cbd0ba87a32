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
	User         string
	passwordFile string
	useTLS       bool
	ca           string
	cert, key    string

	contextPassword string // kept in the context, of that user
	contextErr      error  // why the context cannot be used
}

func (l *login) Register(f *pflag.FlagSet, getenv func(string) string) {
	f.StringVar(&l.User, "user", getenv("TURNLOG_USER"),
		"user to authenticate as (TURNLOG_USER); the password is in TURNLOG_PASSWORD or --password-file")
	f.StringVar(&l.passwordFile, "password-file", getenv("TURNLOG_PASSWORD_FILE"),
		"file with the user's password (TURNLOG_PASSWORD_FILE)")
	f.BoolVar(&l.useTLS, "tls", getenv("TURNLOG_TLS") == "1",
		"connect with TLS, trusting the system's certificate authorities (TURNLOG_TLS=1)")
	f.StringVar(&l.ca, "tls-ca", getenv("TURNLOG_TLS_CA"),
		"connect with TLS, trusting the authorities in this PEM file (TURNLOG_TLS_CA)")
	f.StringVar(&l.cert, "tls-cert", "", "PEM file of the client certificate, for nodes that require one")
	f.StringVar(&l.key, "tls-key", "", "PEM file of its key")
}

// Password returns the password; "" if there is none. The error may be that of the context.
func (l *login) Password(getenv func(string) string) (string, error) {
	if l.contextErr != nil {
		return "", l.contextErr
	}
	password := cmp.Or(l.contextPassword, getenv("TURNLOG_PASSWORD"))
	if l.passwordFile != "" {
		text, err := os.ReadFile(l.passwordFile)
		if err != nil {
			return "", usageError{err: err}
		}
		if password = strings.TrimRight(string(text), "\r\n"); password == "" {
			return "", Usagef("the password file %s is empty", l.passwordFile)
		}
	}
	if password == "" {
		if err := formerVariables(getenv); err != nil {
			return "", err
		}
	}
	if l.User != "" && password == "" {
		return "", Usagef("user %s has no password: set TURNLOG_PASSWORD, or give --password-file", l.User)
	}
	return password, nil
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
	password, err := a.Login.Password(a.Getenv)
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
	if password != "" {
		user := a.Login.User
		if user == "" {
			user = "default"
		}
		req.SetBasicAuth(user, password)
	}
	client := &http.Client{Transport: transport}
	res, err := client.Do(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || password != "" {
		return res, err
	}
	return a.sendLocally(client, req, res)
}
