package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Scheme is what the URL of a bucket begins with.
const Scheme = "s3://"

// Config says where a bucket is, and with which rights it is used. Empty fields are taken from the environment
// variables that other programs for S3 use.
type Config struct {
	// Endpoint is the URL of the store: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or that of Amazon.
	Endpoint string
	// Region is AWS_REGION, AWS_DEFAULT_REGION, or what the store says of the bucket.
	Region string
	Getenv func(string) string
}

// client returns a client of the store.
func (c *Config) client() (*minio.Client, error) {
	endpoint, secure, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	if c.Getenv("AWS_ACCESS_KEY_ID") != "" && c.Getenv("AWS_SECRET_ACCESS_KEY") == "" {
		return nil, errors.New("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not")
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	if file := c.Getenv("AWS_CA_BUNDLE"); file != "" {
		if transport.TLSClientConfig, err = trusting(file); err != nil {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
		}
	}
	return minio.New(endpoint, &minio.Options{Creds: c.credentials(), Secure: secure, Transport: transport,
		Region: c.first(c.Region, "AWS_REGION", "AWS_DEFAULT_REGION"), MaxRetries: 6,
		TrailingHeaders: true}) // without, an upload does not announce the checksums of its parts
}

// first returns what is given, or else the first of the variables that is set.
func (c *Config) first(given string, variables ...string) string {
	for _, v := range variables {
		if given == "" {
			given = c.Getenv(v)
		}
	}
	return given
}

func (c *Config) endpoint() (host string, secure bool, err error) {
	given := c.first(c.Endpoint, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	if given == "" {
		return "s3.amazonaws.com", true, nil
	}
	if strings.Contains(given, "@") { // not repeated: it may have a password
		return "", false, errors.New("the endpoint must be a URL without a user: credentials are given by " +
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return "", false, fmt.Errorf("the endpoint %q must be a URL such as https://s3.example.com:9000", given)
	}
	return u.Host, u.Scheme == "https", nil
}

// credentials come from the environment, else the file of shared credentials, else what the machine, container or
// pod has been given.
func (c *Config) credentials() *credentials.Credentials {
	if id := c.Getenv("AWS_ACCESS_KEY_ID"); id != "" {
		return credentials.NewStaticV4(id, c.Getenv("AWS_SECRET_ACCESS_KEY"), c.Getenv("AWS_SESSION_TOKEN"))
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.FileAWSCredentials{Filename: c.Getenv("AWS_SHARED_CREDENTIALS_FILE"),
			Profile: c.Getenv("AWS_PROFILE")},
		&credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}},
	})
}

// trusting returns a configuration that trusts the authorities in a file.
func trusting(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
